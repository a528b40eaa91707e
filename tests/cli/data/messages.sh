# Sourced by cases that judge a recording: lines of it, without jq, each start of which takes 15 ms.

# A message of partition 0.
message() { # TOPIC OFFSET PAYLOAD [KEY [TIME]]
    local payload=${3//\\/\\\\} key=null
    [ -z "${4:-}" ] || key=\"${4//\"/\\\"}\"
    printf '{"topic":"%s","partition":0,"offset":%d,"tstype":"create","ts":%d,"key":%s,"payload":"%s"}\n' \
        "$1" "$2" "${5:-0}" "$key" "${payload//\"/\\\"}"
}

# Lines of stdin as the messages of a topic.
messages() { # TOPIC
    awk -v topic="$1" '{
        gsub(/\\/, "&&")
        gsub(/"/, "\\\"")
        printf "{\"topic\":\"%s\",\"partition\":0,\"offset\":%d,\"tstype\":\"create\",\"ts\":1,\"key\":null,\"payload\":\"%s\"}\n", topic, NR - 1, $0
    }'
}

# A row's change as Debezium tells it of PostgreSQL; rows and SNAPSHOT are JSON. The commit is at position XID0 of the log.
change() { # TABLE OFFSET XID ID BEFORE AFTER [OPERATION [SNAPSHOT]]
    message "shop.public.$1" "$2" '{"before":'"$5"',"after":'"$6"',"source":{"connector":"postgresql","name":"shop","snapshot":'"${8:-\"false\"}"',"sequence":"[null,\"'"$3"'0\"]","schema":"public","table":"'"$1"'","txId":'"$3"',"lsn":'"$3"'0},"op":"'"${7:-c}"'"}' '{"id":'"$4"'}'
}
