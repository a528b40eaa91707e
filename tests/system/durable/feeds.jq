# The change streams that databases would have sent of a history of `gen`: one message a line, `{topic, key, payload}`,
# in the order of commits. `--arg kind dgraph|ticdc|debezium|in-band|yugabyte`; `clients`: what their clients
# say of it.

def committed: map(select(.tid and (.status // "committed") == "committed" and any(.ops[]; .t == "w"))) | sort_by(.cts | tonumber);

# The last write of each key.
def finals: [.ops[] | select(.t == "w")] | group_by(.k) | map(.[-1]);

def dgraph:
    committed[] | . as $t | finals[]
    | {topic: "cdc", key: "\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000", payload: ({meta: {commit_ts: ($t.cts | tonumber)}, type: "mutation",
        event: {operation: "set", uid: (.k + 1), attr: "v", value: .v, value_type: "int"}} | tojson)};

# A watermark after every tenth transaction, and at the end.
def ticdc:
    committed as $all | range($all | length) as $i | $all[$i] as $t
    | ($t | finals[]
        | {topic: "cdc", key: "", payload: ({id: 0, database: "test", table: "t", pkNames: ["id"], isDdl: false, type: "INSERT", es: 1, ts: 1,
            sql: "", sqlType: {id: 4, v: 4}, mysqlType: {id: "int", v: "int"}, old: null, data: [{id: (.k | tostring), v: (.v | tostring)}],
            _tidb: {commitTs: ($t.cts | tonumber)}} | tojson)}),
      (select($i % 10 == 9 or $i + 1 == ($all | length))
        | {topic: "cdc", key: "", payload: ({id: 0, database: "", table: "", pkNames: null, isDdl: false, type: "TIDB_WATERMARK", es: 1, ts: 1,
            sql: "", sqlType: null, mysqlType: null, data: null, old: null, _tidb: {watermarkTs: ($t.cts | tonumber)}} | tojson)});

def xid: .tid + 1000;

def uuid: "00000000-0000-4000-8000-" + ("\(.tid)" | (12 - length) * "0" + .);

# Whoever committed before it started is seen; of the others those that xmax does not exclude are named.
def snapshot($all):
    .sts as $sts | ([$all[] | select(.cts < $sts) | xid] | max // 0 | . + 1) as $xmax
    | [$all[] | select(.cts > $sts) | xid | select(. < $xmax)] | sort | "\(.[0] // $xmax):\($xmax):\(map(tostring) | join(","))";

# What Debezium counts logical messages under.
def messages: "io.debezium.connector.postgresql.LogicalDecodingMessageMonitor$LogicalDecodingMessageId@1";

# The log's place: a thousand a transaction. In-band: the client's record is the last message of its transaction, and its END counts it.
def debezium:
    committed as $all | range($all | length) as $i | $all[$i] as $t | (($i + 1) * 1000) as $lsn | "\($t | xid):\($lsn + 900)" as $id
    | ($t | finals | length) as $rows
    | def message($place): {source: {version: "3", connector: "postgresql", name: "dbz", ts_ms: 1, snapshot: "false", db: "d",
                sequence: "[\"\($lsn - 100)\",\"\($lsn + $place)\"]", txId: ($t | xid), lsn: ($lsn + $place)},
            transaction: {id: $id, total_order: ($place + 1), data_collection_order: ($place + 1)}, ts_ms: 1};
      {topic: "dbz.transaction", key: ({id: $id} | tojson), payload: ({status: "BEGIN", id: $id, event_count: null, data_collections: null, ts_ms: 1} | tojson)},
      ($t | finals | to_entries[]
        | {topic: "dbz.public.t", key: ({id: .value.k} | tojson), payload: (message(.key) * {before: null, after: {id: .value.k, v: .value.v},
            source: {schema: "public", table: "t"}, op: "c"} | tojson)}),
      (select($kind == "in-band") | {topic: "dbz.message", key: "", payload: (message($rows) * {source: {schema: "", table: ""}, op: "m", message: {prefix: "isochron",
            content: ($t | {tid, sid, snapshot: snapshot($all), ops: (.ops | map(.k |= "public.t/\(.)"))} | tojson | @base64)}} | tojson)}),
      ($rows + (if $kind == "in-band" then 1 else 0 end)) as $events
    | {topic: "dbz.transaction", key: ({id: $id} | tojson), payload: ({status: "END", id: $id, event_count: $events,
            data_collections: ([{data_collection: "public.t", event_count: $rows}] +
                (if $kind == "in-band" then [{data_collection: messages, event_count: 1}] else [] end)), ts_ms: 1} | tojson)};

# HybridTimes, some milliseconds apart, as texts: as numbers they would lose digits.
def hybrid: "\(6963200000000000 + . * 4096)000";

# The gRPC connector: cells, a UUID, the commit's time.
def cell: {value: ., set: true};
def yugabyte:
    committed[] | . as $t | finals | to_entries[]
    | {topic: "cdc", key: ({id: (.value.k | cell)} | tojson), payload: ({before: null, after: {id: (.value.k | cell), v: (.value.v | cell)},
        source: {version: "dz.1.9.5.yb.grpc", connector: "yugabytedb", name: "yb", ts_ms: 1, snapshot: "false", db: "yugabyte",
            sequence: "[\"1:4::0:0\",\"1:6::0:1\"]", schema: "public", table: "t", txId: ($t | uuid), lsn: "1:\($t.cts):a2V5:\(.key):\($t.cts | hybrid)",
            commit_time: ($t.cts | hybrid), record_time: ($t.cts | hybrid), tablet_id: "0", partition_id: "0.0"},
        transaction: null, op: "c", ts_ms: 1} | tojson | gsub("_time\":\"(?<time>[0-9]+)\""; "_time\":\(.time)"))};

# Keys as rows name them. What the stream tells is left out: the commit, where rows come with it.
def hexadecimal: if . < 16 then "0123456789abcdef"[.:. + 1] else (. / 16 | floor | hexadecimal) + (. % 16 | hexadecimal) end;
def named: if $kind == "dgraph" then "v/0x" + (. + 1 | hexadecimal) elif $kind == "ticdc" then "test.t/\(.)" else "public.t/\(.)" end;
def clients:
    .[] | if .tid then .ops |= map(.k |= named) | (if $kind == "debezium" then .xid = xid
        elif $kind == "yugabyte" then .tid = uuid | .sts |= hybrid | .cts |= hybrid else . end)
    else if $kind == "yugabyte" and .watermark then .watermark |= hybrid else . end end;

if $what == "clients" then clients elif $kind == "dgraph" then dgraph elif $kind == "ticdc" then ticdc elif $kind == "yugabyte" then yugabyte else debezium end
