# Sourced by cases that need a Kafka cluster: start_broker TOPIC:PARTITIONS... sets $address; it ends with the case.

start_broker() {
    mkfifo broker.in
    embedded-broker "$@" <broker.in >broker.address &
    exec 3>broker.in
    while [ ! -s broker.address ]; do sleep 0.05; done
    address=$(cat broker.address)
}

# Lines of stdin as messages of a partition.
publish() { # TOPIC PARTITION
    kcat -b "$address" -P -t "$1" -p "$2" 2>/dev/null
}

# Waits until a file has a line that matches.
await() { # PATTERN FILE
    for _ in $(seq 400); do
        grep -q "$1" "$2" 2>/dev/null && return
        sleep 0.05
    done
    echo "no line like $1 came to $2"
}
