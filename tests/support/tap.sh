# TAP for bash scripts, which keep the count in $number.

plan() { # results
    echo "1..$1"
}

result() { # status name
    number=$((number + 1))
    if [ "$1" = 0 ]; then
        echo "ok $number - $2"
    else
        echo "not ok $number - $2"
        return 1
    fi
}

skip() { # name reason
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}
