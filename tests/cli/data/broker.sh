# Sourced by cases that need a Kafka cluster: start_broker TOPIC:PARTITIONS... sets $address and $broker, its process; it ends with the
# case.

PATIENCE=120 # seconds for what takes a moment, but not on a machine that is busy

start_broker() {
    mkfifo broker.in
    embedded-broker "$@" <broker.in >broker.address &
    broker=$!
    exec 3>broker.in
    until grep -q . broker.address 2>/dev/null; do
        kill -0 $broker 2>/dev/null || { echo "no broker"; exit 1; }
        sleep 0.05
    done
    address=$(cat broker.address)
}

# Lines of stdin as messages of a partition.
publish() { # TOPIC PARTITION
    kcat -b "$address" -m $PATIENCE -P -t "$1" -p "$2" 2>/dev/null
}

# Lines of a topic: what it has, or its first COUNT, which are waited for.
consume() { # TOPIC [COUNT]
    local until=-e
    [ $# = 1 ] || until="-c $2"
    kcat -b "$address" -m $PATIENCE -C -t "$1" -o beginning -q $until 2>/dev/null
}

# Reads a topic's first COUNT messages as GROUP, which commits that. A group of its own for each topic: of one that was there before,
# the next member waits until the last one's session is over.
commit() { # GROUP TOPIC COUNT
    kcat -b "$address" -m $PATIENCE -G "$1" -c "$3" -X auto.offset.reset=earliest "$2" 2>/dev/null
}

# Waits until a command succeeds: for what must become true, never for a time.
await_that() { # COMMAND...
    local end=$((SECONDS + PATIENCE))
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $end ] || { echo "waited in vain: $*"; return 1; }
        sleep 0.05
    done
}

# Waits until a file has a line that matches.
await() { # PATTERN FILE
    await_that grep -q "$1" "$2"
}
