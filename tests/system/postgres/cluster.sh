#!/bin/sh
# A PostgreSQL cluster of its own (loopback, logical WAL) for the end-to-end tests.
#
#   cluster.sh start DIR     make it in DIR if it is new, start it, wait until it answers; prints its connection string
#   cluster.sh stop DIR      stop at once and wait
#
# PostgreSQL refuses to run as root: then it runs as the user `postgres` of Debian's package. The superuser is `postgres`, without
# a password, on 127.0.0.1 only. Nothing is synced to disk: the cluster is thrown away.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

fail() {
    echo "cluster.sh: $*" >&2
    exit 4
}

programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -n "$programs" ] || fail "no PostgreSQL in /usr/lib/postgresql"

# As whoever may run PostgreSQL.
unprivileged() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=postgres --regid=postgres --init-groups -- "$@"
    else
        "$@"
    fi
}

configure() {
    mkdir -p "$directory"
    [ "$(id -u)" != 0 ] || chown postgres "$directory"
    unprivileged "$programs/initdb" -D "$directory/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync \
        >"$directory/log" 2>&1 || fail "initdb failed, see $directory/log"
    port=$("$here/../../support/free_ports.py")
    cat >>"$directory/data/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = ''
wal_level = logical
fsync = off
shared_buffers = 32MB
max_wal_senders = 12
max_replication_slots = 12
max_connections = 60
track_commit_timestamp = on
autovacuum = off
END
    echo "host=127.0.0.1 port=$port user=postgres dbname=postgres" >"$directory/address"
}

start() {
    [ -f "$directory/address" ] || configure
    unprivileged "$programs/pg_ctl" -D "$directory/data" -l "$directory/data/log" -w -t 300 start >>"$directory/log" 2>&1 ||
        fail "PostgreSQL does not start, see $directory/data/log"
    cat "$directory/address"
}

stop() {
    [ -f "$directory/data/postmaster.pid" ] || return 0
    unprivileged "$programs/pg_ctl" -D "$directory/data" -m immediate -w stop >>"$directory/log" 2>&1 || true
}

[ $# -eq 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
case $2 in /*) directory=$2 ;; *) directory=$(pwd)/$2 ;; esac
case $1 in
start) start ;;
stop) stop ;;
*) fail "unknown command $1" ;;
esac
