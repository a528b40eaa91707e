# Running isochron on $sources, and asking its verdict: functions for bash scripts that set $work, $isochron and $address.
# OUTPUT is a file in $work; OUTPUT.err and OUTPUT.status go with it.

verdict_and_counts='[.verdict, (.counts | to_entries | map(select(.value > 0).key))]'

# A watcher of its own process, for kill: $watcher.
watch() { # output options...
    local output=$1
    shift
    "$isochron" watch -X "bootstrap.servers=$address" "${sources[@]}" --json --quiet "$@" \
        >"$work/$output" 2>"$work/$output.err" </dev/null &
    watcher=$!
}

# One that says how far it is, and judges all that has come when it is ended.
watch_live() { # output options...
    local output=$1 listen
    shift
    listen=$("$(dirname "${BASH_SOURCE[0]}")/free_ports.py")
    echo "$listen" >"$work/$output.listen"
    watch "$output" --drain --listen "$listen" "$@"
}

# Ends $watcher, a live one, once it has read as many messages as the judge of the same sources.
end_live() { # output judged [signal]
    local messages
    messages=$(jq .stream.messages "$work/$2")
    while kill -0 "$watcher" && [ "$(curl -s "http://127.0.0.1:$(cat "$work/$1.listen")/metrics" |
        awk '$1 == "isochron_messages_total" { print $2 }')" -lt "$messages" ]; do
        sleep 0.2
    done
    kill "-${3:-TERM}" "$watcher"
    finish "$1"
}

finish() { # output: waits for the last watcher
    wait $watcher 2>/dev/null
    echo $? >"$work/$1.status"
}

judge() { # output options...: all that the topics hold now
    watch "$@" --until-eof
    finish "$1"
}

replay() { # output capture options...
    local output=$1 capture=$2
    shift 2
    "$isochron" replay "${sources[@]}" --json --quiet "$@" "$work/$capture" >"$work/$output" 2>"$work/$output.err"
    echo $? >"$work/$output.status"
}

check() { # output options... file
    local output=$1
    shift
    "$isochron" check --json "$@" >"$work/$output" 2>"$work/$output.err"
    echo $? >"$work/$output.status"
}

# A verdict's exit status and what a jq expression makes of it are as expected, else it is shown.
is() { # output expected expression name
    local found
    found="$(cat "$work/$1.status") $(jq -c "$3" "$work/$1")"
    [ "$found" = "$2" ]
    result $? "$4" || {
        echo "# expected $2, found $found"
        cut -c1-1500 "$work/$1" | sed 's/^/# /'
        sed 's/^/# /' "$work/$1.err"
    }
}

# But for times and memory.
same_verdict() { # output output name
    local strip='del(.seconds, .peak_rss_bytes)'
    [ -s "$work/$1" ] && [ "$(jq -cS "$strip" "$work/$1")" = "$(jq -cS "$strip" "$work/$2")" ]
    result $? "$3" || jq -cS "$strip" "$work/$1" "$work/$2" | cut -c1-1500 | sed 's/^/# /'
}
