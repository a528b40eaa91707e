# What the bash scripts of this folder begin with, once they have set $here (it or a folder beside it): $proxy is the program, $work a folder
# that goes with the script, TAP is at hand. And a PostgreSQL of their own with the proxy before it: $direct and $through are ports,
# $status the proxy's own. Scripts with other servers have their own servers_stop and proxy_start.
proxy=$(realpath "${PROXY:-$here/../../../${BUILD:-build}/isochron-proxy}")
work=$(mktemp -d)
chmod 755 "$work" # PostgreSQL's user must get in
number=0
. "$here/../../support/tap.sh"

servers_stop() {
    "$here/../postgres/cluster.sh" stop "$work/postgres"
}

stop_all() {
    jobs -p | xargs -r kill 2>/dev/null
    servers_stop
    [ -n "${KEEP:-}" ] && echo "# kept in $work" || rm -rf "$work"
}
trap stop_all EXIT

database_start() {
    server=$("$here/../postgres/cluster.sh" start "$work/postgres") || return 1
    direct=$(sed 's/.*port=\([0-9]*\).*/\1/' <<<"$server")
    export PGHOST=127.0.0.1 PGUSER=postgres PGDATABASE=postgres PGSSLMODE=disable
}

proxy_start() { # options...: until it listens
    read -r through status < <("$here/../../support/free_ports.py" 2 | paste -sd' ')
    "$proxy" --bind "$through" --server "$direct" --listen "$status" --shapes "$@" >"$work/proxy.out" 2>"$work/proxy.err" &
    proxy_process=$!
    until curl -sf "http://127.0.0.1:$status/livez" >"$work/null" 2>&1; do
        kill -0 $proxy_process || return 1
        sleep 0.05
    done
}

proxy_stop() {
    kill "$proxy_process" && wait "$proxy_process"
}

metric() { # name
    curl -s "http://127.0.0.1:$status/metrics" | sed -n "s/^isochron_proxy_$1 //p"
}
