# The change streams that databases would have sent of a history of `gen`: one message a line, `{topic, key, payload}`,
# in the order of commits. `--arg kind dgraph|ticdc|debezium`; `clients`: what their clients say of it.

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

# The log's place: a thousand a transaction.
def debezium:
    committed as $all | range($all | length) as $i | $all[$i] as $t | (($i + 1) * 1000) as $lsn | "\($t | xid):\($lsn + 900)" as $id
    | {topic: "dbz.transaction", key: ({id: $id} | tojson), payload: ({status: "BEGIN", id: $id, event_count: null, data_collections: null, ts_ms: 1} | tojson)},
      ($t | finals | to_entries[]
        | {topic: "dbz.public.t", key: ({id: .value.k} | tojson), payload: ({before: null, after: {id: .value.k, v: .value.v},
            source: {version: "3", connector: "postgresql", name: "dbz", ts_ms: 1, snapshot: "false", db: "d",
                sequence: "[\"\($lsn - 100)\",\"\($lsn + .key)\"]", schema: "public", table: "t", txId: ($t | xid), lsn: ($lsn + .key)},
            transaction: {id: $id, total_order: (.key + 1), data_collection_order: (.key + 1)}, op: "c", ts_ms: 1} | tojson)}),
      {topic: "dbz.transaction", key: ({id: $id} | tojson), payload: ({status: "END", id: $id, event_count: ($t | finals | length),
            data_collections: [{data_collection: "public.t", event_count: ($t | finals | length)}], ts_ms: 1} | tojson)};

# Keys as rows name them. What the stream tells is left out: the commit, where rows come with it.
def hexadecimal: if . < 16 then "0123456789abcdef"[.:. + 1] else (. / 16 | floor | hexadecimal) + (. % 16 | hexadecimal) end;
def named: if $kind == "dgraph" then "v/0x" + (. + 1 | hexadecimal) elif $kind == "ticdc" then "test.t/\(.)" else "public.t/\(.)" end;
def clients:
    .[] | if .tid then .ops |= map(.k |= named) | (if $kind == "debezium" then .xid = xid else . end) else . end;

if $what == "clients" then clients elif $kind == "dgraph" then dgraph elif $kind == "ticdc" then ticdc else debezium end
