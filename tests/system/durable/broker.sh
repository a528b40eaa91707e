# An embedded broker for the tests of this folder; its caller sets `work` and `build`.

# start_broker TOPIC:PARTITIONS...: sets `address`.
start_broker() {
    mkfifo "$work/hold"
    "$build/embedded-broker" "$@" <"$work/hold" >"$work/address" &
    broker=$!
    exec 9>"$work/hold"
    for ((i = 0; i < 2400; i++)); do
        [ -s "$work/address" ] && break
        sleep 0.05
    done
    address=$(cat "$work/address")
}

# It ends with its standard input.
stop_broker() {
    exec 9>&-
    [ -n "${broker:-}" ] && wait "$broker"
    broker=
}
