# A PostgreSQL of its own with the proxy before it, for bash scripts that set $here, $work and $proxy: $direct and $through are ports,
# $status the proxy's own.
. "$here/../../support/tap.sh"

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
