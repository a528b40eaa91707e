# A capture of one row for each line of a spellings.tsv (Debezium), and of one reader, who has it as `$who` (4: the server, 5: a driver) spells it.
# Behind its snapshot one more row came of each table, so that the first one's transaction is whole.
# `$schemas`: messages have theirs, or not. `$database`: PostgreSQL or MariaDB, as which the stream says where its rows stand.
def message($topic; $offset; $key; $payload):
    {topic: $topic, partition: 0, $offset, tstype: "create", ts: 1795252007426, broker: 1, key: $key, payload: ($payload | tojson)};
def source($table; $row; $id):
    {ts_ms: 1795252007426, snapshot: "false", name: "p", $table} +
    if $database == "PostgreSQL" then
        {version: "3.7.0.Final", connector: "postgresql", db: "d", schema: "public", txId: $id, lsn: ($id * 10), sequence: "[\"\($id * 10 - 10)\",\"\($id * 10)\"]"}
    else
        {version: "3.0.0.Final", connector: "mariadb", db: "public", server_id: 1, gtid: "0-1-\($id)", file: "binlog.000001", pos: ($id * 10), row: $row}
    end;
def transaction($id): if $database == "PostgreSQL" then "\($id):\($id * 10)" else "0-1-\($id)" end;
def snapshot: if $database == "PostgreSQL" then "800:800:" else "binlog.000001:9000" end;
def envelope($field):
    {type: "struct", fields: [{type: "struct", field: "after", optional: true, fields: [{type: "int32", field: "id"}, ($field + {field: "c", optional: true})]}]};
[inputs | select(startswith("#") | not) | split("\t")] | to_entries[] | "t\(.key)" as $table | .key as $row | .value as $line |
(
    (700, 1000) as $id | (if $id == 700 then 1 else 2 end) as $key |
    {before: null, after: {id: $key, c: "STREAM"}, source: source($table; $row; $id),
     transaction: {id: transaction($id), total_order: ($row + 1), data_collection_order: 1}, op: "c", ts_ms: 1795252007426} as $payload |
    (if $schemas then {schema: envelope($line[2] | fromjson), $payload} else $payload end) as $whole |
    message("p.public.\($table)"; $key - 1; "{\"id\":\($key)}"; $whole) |
    # The stream's value as it stands in the table: jq's numbers are doubles.
    .payload |= (split("\"STREAM\"") | join($line[3]))
),
message("readers"; $row; null; {tid: "r\($row)", sid: "s\($row)", snapshot: snapshot, ops: [{t: "r", k: "public.\($table)/1", v: $line[$who]}]})
