# What the bash scripts of this folder begin with, once they have set $here (it or a folder beside it): support/servers.sh, $proxy, which is
# the program, and a PostgreSQL of their own with the proxy before it: $direct and $through are ports, $status the proxy's own. Scripts
# with other servers have their own servers_stop and proxy_start.
. "$here/../../support/servers.sh"
proxy=$(realpath "${PROXY:-$build/isochron-proxy}")

database_start() {
    postgres_start || return 1
    direct=$port
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
