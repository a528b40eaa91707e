#!/usr/bin/env python3
"""lost_updates.py RECORDS ROWS HISTORY: joins the proxy's records with the stream's rows of accounts, by xid, without Isochron.

Writes a history without timestamps (reads of a record, then its writes as the stream has them), and prints which transactions overwrote
another version than the one that they had read: the before image of their row says so."""
import json
import sys

records = [json.loads(line) for line in open(sys.argv[1]) if '"tid"' in line]
rows, initial = {}, {}
for line in open(sys.argv[2]):
    row = json.loads(line)["payload"]
    if row["op"] == "r":
        initial[row["after"]["id"]] = row["after"]["balance"]
    else:
        rows.setdefault(str(row["source"]["txId"]), []).append(row)

with open(sys.argv[3], "w") as history:
    def put(tid, sid, operations):
        history.write(json.dumps({"tid": tid, "sid": sid, "ops": operations}) + "\n")

    put("start", "start", [{"t": "w", "k": k, "v": v} for k, v in initial.items()])
    known = set()
    for record in records:
        if record.get("status") != "committed" or "xid" not in record:
            continue
        known.add(record["xid"])
        operations, read = [], {}
        for operation in record["ops"]:
            if operation["t"] in "wd":
                break
            if operation["t"] == "r" and operation["row"].startswith("public.accounts/") and "balance" in operation.get("cells", {}):
                key, value = int(operation["row"].split("/")[1]), int(operation["cells"]["balance"])
                operations.append({"t": "r", "k": key, "v": value})
                read.setdefault(key, set()).add(value)
        for row in rows.get(record["xid"], []):
            key = row["after"]["id"]
            operations.append({"t": "w", "k": key, "v": row["after"]["balance"]})
            if read.get(key, set()) - {row["before"]["balance"]}:
                print(record["tid"])
            read.pop(key, None)  # what follows replaces its own
        if operations:
            put(record["tid"], record["sid"], operations)
    assert not set(rows) - known, "rows of transactions without a record"
