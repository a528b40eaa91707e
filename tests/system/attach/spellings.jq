# A capture of one row for each line of a spellings.tsv (Debezium), and of one reader, who has it as `$who` (4: the server, 5: a driver) spells it.
# `$schemas`: messages have theirs, or not. `$database`: PostgreSQL or MariaDB, as which the stream says where its rows stand.
def message($topic; $offset; $key; $payload):
    {topic: $topic, partition: 0, $offset, tstype: "create", ts: 1795252007426, broker: 1, key: $key, payload: ($payload | tojson)};
def source($table; $row):
    {ts_ms: 1795252007426, snapshot: "false", name: "p", $table} +
    if $database == "PostgreSQL" then
        {version: "3.7.0.Final", connector: "postgresql", db: "d", schema: "public", txId: 700, lsn: 2000, sequence: "[\"1000\",\"2000\"]"}
    else
        {version: "3.0.0.Final", connector: "mariadb", db: "public", server_id: 1, gtid: "0-1-700", file: "binlog.000001", pos: 2000, row: $row}
    end;
def transaction: if $database == "PostgreSQL" then "700:2000" else "0-1-700" end;
def snapshot: if $database == "PostgreSQL" then "800:800:" else "binlog.000001:9000" end;
def envelope($field):
    {type: "struct", fields: [{type: "struct", field: "after", optional: true, fields: [{type: "int32", field: "id"}, ($field + {field: "c", optional: true})]}]};
[inputs | select(startswith("#") | not) | split("\t")] | to_entries[] | "t\(.key)" as $table | .key as $row | .value as $line |
(
    {before: null, after: {id: 1, c: "STREAM"}, source: source($table; $row),
     transaction: {id: transaction, total_order: ($row + 1), data_collection_order: 1}, op: "c", ts_ms: 1795252007426} as $payload |
    (if $schemas then {schema: envelope($line[2] | fromjson), $payload} else $payload end) as $whole |
    message("p.public.\($table)"; 0; "{\"id\":1}"; $whole) |
    # The stream's value as it stands in the table: jq's numbers are doubles.
    .payload |= (split("\"STREAM\"") | join($line[3]))
),
message("readers"; $row; null; {tid: "r\($row)", sid: "s\($row)", snapshot: snapshot, ops: [{t: "r", k: "public.\($table)/1", v: $line[$who]}]})
