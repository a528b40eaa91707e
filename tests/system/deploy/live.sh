# Sourced by tests that look at a running watch: live_watch OPTION... starts one on a broker of its own, where one transaction and a
# watermark wait, and sets $listen to HOST:PORT of its status server. Needs $work, $program; live_end in the script's EXIT trap.

live_broker= live_process=

live_watch() {
    local address
    mkfifo "$work/broker.in"
    "$(dirname "$program")/embedded-broker" t:1 <"$work/broker.in" >"$work/address" &
    live_broker=$!
    exec 3>"$work/broker.in"
    for _ in $(seq 2400); do [ -s "$work/address" ] && break; sleep 0.05; done
    address=$(cat "$work/address")
    printf '%s\n' '{"tid":1,"sid":1,"sts":10,"cts":20,"ops":[{"t":"w","k":"x","v":1}]}' '{"watermark":"15"}' |
        kcat -b "$address" -P -t t -p 0 2>/dev/null
    : >"$work/said"
    "$program" watch --source history:t --listen 127.0.0.1:0 -X bootstrap.servers="$address" "$@" >"$work/lines" 2>"$work/said" &
    live_process=$!
    for _ in $(seq 2400); do
        listen=$(sed -n 's#.*status page on http://\([^ ]*\)/$#\1#p' "$work/said")
        [ -n "$listen" ] && break
        sleep 0.05
    done
}

live_end() {
    exec 3>&-
    [ -z "$live_process" ] || kill "$live_process" 2>/dev/null
    wait $live_broker $live_process
}
