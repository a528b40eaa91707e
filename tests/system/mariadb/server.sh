#!/bin/sh
# A MariaDB server of its own (loopback, row binlog with whole rows) for the end-to-end tests.
#
#   server.sh start DIR [SETTING...]     make it in DIR if it is new, start it, wait until it answers; prints its port
#   server.sh stop DIR                   stop at once (SIGKILL) and wait
#
# Run as root it becomes `nobody`. The user `isochron` (password `isochron`) may do everything, from this machine only. Unless a
# SETTING, a line of my.cnf, says otherwise, nothing is synced to disk: the server is thrown away.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

fail() {
    echo "server.sh: $*" >&2
    exit 4
}

configure() { # setting...
    mkdir -p "$directory"
    [ "$(id -u)" != 0 ] || chown nobody "$directory"
    "$here/../../support/free_ports.py" >"$directory/port"
    cat >"$directory/my.cnf" <<END
[mariadbd]
user=$user
datadir=$directory/data
bind-address=127.0.0.1
port=$(cat "$directory/port")
socket=$directory/socket
pid-file=$directory/pid
log-error=$directory/log
server-id=1
log-bin=binlog
binlog-format=ROW
binlog-row-image=FULL
sync-binlog=0
innodb-flush-log-at-trx-commit=0
innodb-buffer-pool-size=32M
innodb-log-file-size=16M
performance-schema=OFF
END
    [ $# = 0 ] || printf '%s\n' "$@" >>"$directory/my.cnf"
    mariadb-install-db --defaults-file="$directory/my.cnf" --auth-root-authentication-method=normal --skip-test-db \
        >"$directory/install.log" 2>&1 || fail "mariadb-install-db failed, see $directory/install.log"
}

start() { # setting...
    fresh=false
    [ -f "$directory/port" ] || { configure "$@"; fresh=true; }
    mariadbd --defaults-file="$directory/my.cnf" >>"$directory/log" 2>&1 </dev/null &
    tries=0
    until mariadb --no-defaults -S "$directory/socket" -u root -e 'SELECT 1' >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 1500 ] || fail "MariaDB does not answer, see $directory/log"
        sleep 0.2
    done
    if $fresh; then
        mariadb --no-defaults -S "$directory/socket" -u root -e "CREATE USER isochron@'%' IDENTIFIED BY 'isochron';
            GRANT ALL ON *.* TO isochron@'%'"
    fi
    cat "$directory/port"
}

stop() {
    [ -f "$directory/pid" ] || return 0
    pid=$(cat "$directory/pid")
    kill -KILL "$pid" 2>/dev/null || true
    while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
    rm -f "$directory/pid"
}

[ $# -ge 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
case $2 in /*) directory=$2 ;; *) directory=$(pwd)/$2 ;; esac
user=$(id -un)
[ "$user" != root ] || user=nobody
command=$1
shift 2
case $command in
start) start "$@" ;;
stop) stop ;;
*) fail "unknown command $command" ;;
esac
