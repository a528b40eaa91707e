#!/usr/bin/env python3
"""Plants lies about what queries returned into a capture of a ledger's topics.

    plant_queries.py TOPIC TABLE WHOLE LIES
        of clients on TOPIC about TABLE; writes LIES; prints what has to be found, as JSON: [[tid, kind, key], ...], sorted

A third are rows left out, a third rows that never were, a third other sums. Each is in another transaction that wrote nothing.
"""
import json
import sys

EACH = 4
TOPIC, TABLE, WHOLE, LIES = sys.argv[1:]
NEVER = "999999999"


def leave_row_out(query):
    """The key of the row, or None where there is none."""
    if query.get("partial") or not query.get("rows"):
        return None
    row = next(iter(query["rows"]))
    del query["rows"][row]
    return f"{TABLE}/{row}"


def add_row(query):
    if "rows" not in query or "from" in query:
        return None
    query["rows"][NEVER] = {}
    return f"{TABLE}/{NEVER}"


def change_sum(query):
    if not query.get("agg", {}).get("sum(amount)"):
        return None
    query["agg"]["sum(amount)"] = str(int(query["agg"]["sum(amount)"]) + 1)
    return f"{TABLE}#"


def plant(record, lie):
    """Alters one of the record's queries; returns its key."""
    for query in record["ops"]:
        key = lie(query) if query["t"] == "q" else None
        if key:
            return key
    return None


def main():
    lies = [(lie, kind) for lie, kind in ((leave_row_out, "missing-row"), (add_row, "extra-row"), (change_sum, "aggregate"))
            for _ in range(EACH)]
    messages = [json.loads(line) for line in open(WHOLE)]
    planted = []
    for message in messages[len(messages) // 4:]:
        if not lies or message["topic"] != TOPIC or '"tid"' not in message["payload"]:
            continue
        record = json.loads(message["payload"])
        if record.get("status", "committed") != "committed" or any(op["t"] not in ("q", "r") for op in record["ops"]):
            continue
        key = plant(record, lies[0][0])
        if key:
            planted.append([record["tid"], lies.pop(0)[1], key])
            message["payload"] = json.dumps(record)
    with open(LIES, "w") as out:
        for message in messages:
            out.write(json.dumps(message) + "\n")
    print(json.dumps(sorted(planted), separators=(",", ":")))


main()
