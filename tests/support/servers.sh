# How scripts begin that start servers of their own: $isochron, TAP, and $work, a folder that goes away at the end, once the servers are
# stopped (KEEP=1: it stays). The script sets $here first; what it starts beside both databases its own servers_stop ends.
build=$(realpath "${BUILD:-$here/../../../build}")
isochron=$(realpath "${ISOCHRON:-$build/isochron}")
work=$(mktemp -d)
chmod 755 "$work" # the servers' users must get in
number=0
. "$here/../../support/tap.sh"

servers_stop() {
    "$here/../postgres/cluster.sh" stop "$work/postgres"
    "$here/../mariadb/server.sh" stop "$work/mariadb"
}

stop_all() {
    jobs -p | xargs -r kill 2>/dev/null
    servers_stop
    cd / # the script may stand in it
    [ -n "${KEEP:-}" ] && echo "# kept in $work" || rm -rf "$work"
}
trap stop_all EXIT

# A PostgreSQL: $server is how libpq calls it, $port its port, $url of its database postgres. Again after a stop: the same one.
postgres_start() {
    server=$("$here/../postgres/cluster.sh" start "$work/postgres") || return 1
    port=$(sed 's/.*port=\([0-9]*\).*/\1/' <<<"$server")
    url=postgresql://postgres@127.0.0.1:$port/postgres
}
