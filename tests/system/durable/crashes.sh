# Runs of `durable` (an array: the command) that are killed, with its state in "$work/state" and its lines in "$work/lines",
# and one that is not, whose final verdicts must be those in "$work/expected". `optional` has points that may not be come to.

# crashed POINT:N: one run that dies there, or does not come there.
crashed() {
    ISOCHRON_CRASH=$1 "${durable[@]}" 2>>"$work/said"
    local status=$?
    wait_for_children
    [ $status = 137 ]
}

# The same; what rests on how the threads run is tried again, up to five times.
comes_to() {
    local try
    for ((try = 1; ; try++)); do
        crashed "$1:$2" && return
        [ "$2" = 1 ] && [[ $optional != *" $1 "* ]] && [ $try -lt 5 ] || return 1
        rm -rf "$work/state" "$work/lines" "$work/said"
    done
}

# A snapshot's child is killed with its parent, an instant later.
wait_for_children() {
    for ((i = 0; i < 6000; i++)); do
        [ ! -e "$work/state/lock" ] || flock -n "$work/state/lock" true && return
        sleep 0.02
    done
}

# no_answer SAID: a run ended because a broker of this busy machine did not answer in time. The next one goes on from where it was.
no_answer() {
    grep -q 'did not answer within\|Local: Timed out' "$1"
}

# One run, and another while brokers do not answer; its status.
answered_run() {
    local try status
    for ((try = 1; ; try++)); do
        "${durable[@]}" 2>"$work/said.last"
        status=$?
        cat "$work/said.last" >>"$work/said"
        [ $status = 4 ] && [ $try -lt 5 ] && no_answer "$work/said.last" || return $status
    done
}

# goes_on NAME: the run that is not killed, and what is there then.
goes_on() {
    answered_run
    local status=$?
    grep '"state":"final"' "$work/lines" | sort >"$work/found"
    [ $status = 1 ] && cmp -s "$work/expected" "$work/found" && [ "$(tail -c 1 "$work/lines" | od -An -c | tr -d ' ')" = '\n' ]
    result $? "$1" || { sed 's/^/# /' "$work/said"; echo "# status $status"; diff "$work/expected" "$work/found" | head -5 | sed 's/^/# /'; }
    rm -rf "$work/state" "$work/lines" "$work/said"
}
