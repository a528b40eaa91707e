# A capture of one row for each line of TiCDC's spellings.tsv, in canal-json, and of one reader, who has it as `$who` (4: the server, 5: a driver) spells it.
def message($topic; $offset; $payload):
    {topic: $topic, partition: 0, $offset, tstype: "create", ts: 1795252007426, broker: 1, key: null, payload: ($payload | tojson)};
[inputs | select(startswith("#") | not) | split("\t")] | to_entries[] | "t\(.key)" as $table | .key as $row | .value as $line |
(
    message("changes"; $row;
        {id: 0, database: "db", $table, pkNames: ["id"], isDdl: false, type: "INSERT", es: 1, ts: 2, sql: "", sqlType: {id: 4, c: 4},
         mysqlType: {id: "int", c: $line[2]}, data: [{id: "1", c: "STREAM"}], old: null, _tidb: {commitTs: ($row + 100)}}) |
    .payload |= (split("\"STREAM\"") | join($line[3]))
),
message("readers"; $row; {tid: "r\($row)", sid: "s\($row)", sts: 1000, cts: 1000, ops: [{t: "r", k: "db.\($table)/1", v: $line[$who]}]})
