# A capture of one value for each line of Dgraph's spellings.tsv, and of one reader, who has it as `$who` (4: a query, 5: a driver) spells it.
def message($topic; $offset; $key; $payload):
    {topic: $topic, partition: 0, $offset, tstype: "create", ts: 1795252007426, broker: 1, $key, payload: ($payload | tojson)};
[inputs | select(startswith("#") | not) | split("\t")] | to_entries[] | "t\(.key)" as $predicate | .key as $row | .value as $line |
(
    message("changes"; $row; "\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000";
        {meta: {commit_ts: ($row + 100)}, type: "mutation",
         event: {operation: "set", uid: 1, attr: $predicate, value: "STREAM", value_type: $line[2]}}) |
    .payload |= (split("\"STREAM\"") | join($line[3]))
),
message("readers"; $row; null; {tid: "r\($row)", sid: "s\($row)", sts: 1000, ops: [{t: "r", k: "\($predicate)/0x1", v: $line[$who]}]})
