#!/usr/bin/env python3
"""Plants lies into a capture of the application's topics.

    plant.py WHOLE LIES     writes LIES; prints what has to be found, as JSON: [[tid, axiom, kind], ...], sorted

A third are reads of what nobody wrote, a third rows of the stream that say something else, a third rows that are gone. Each
concerns another account, so that none hides another.
"""
import json
import sys

EACH = 4
LIE = "-666.00"


def lie_about_read(message):
    record = json.loads(message["payload"])
    record["ops"][0]["v"] = LIE
    message["payload"] = json.dumps(record)
    return message


def alter_row(message):
    event = json.loads(message["payload"])
    event["after"]["balance"] = LIE
    message["payload"] = json.dumps(event)
    return message


def find_reads(messages):
    """Records that read an account before anything else, by account."""
    for message in messages:
        if message["topic"] == "shop.clients" and '"tid"' in message["payload"]:
            record = json.loads(message["payload"])
            reads = record["status"] == "committed" and len(record["ops"]) == 2 and record["ops"][0]["t"] == "r"
            if reads and record["ops"][0]["k"].startswith("public.accounts/"):
                yield record["ops"][0]["k"], record["tid"], message


def find_rows(messages, tids):
    """Updates of accounts by recorded transactions, which write the row once: what they wrote first nobody sees."""
    rows = {}
    for message in messages:
        if message["topic"] == "shop.public.accounts" and message["payload"]:
            event = json.loads(message["payload"])
            tid = tids.get(str(event["source"]["txId"]))
            if event["op"] == "u" and tid:
                rows.setdefault((tid, f"public.accounts/{event['after']['id']}"), []).append(message)
    for (tid, key), found in rows.items():
        if len(found) == 1:
            yield key, tid, found[0]


def pick(found, keys, tids):
    """EACH of them, from the middle on, of keys and transactions that no lie is about yet."""
    found = list(found)
    picked = []
    for key, tid, message in found[len(found) // 3:]:
        if len(picked) < EACH and key not in keys and tid not in tids:
            keys.add(key)
            tids.add(tid)
            picked.append((tid, (message["topic"], message["offset"])))
    return picked


def main():
    messages = [json.loads(line) for line in open(sys.argv[1])]
    records = [json.loads(m["payload"]) for m in messages if m["topic"] == "shop.clients" and '"tid"' in m["payload"]]
    tid_of = {str(record["xid"]): record["tid"] for record in records if record.get("xid") and record["status"] == "committed"}
    keys, tids = set(), set()
    lies, expected = {}, []
    for found, lie, axiom, kind in (
            (find_reads(messages), lie_about_read, "EXT", "uncommitted"),
            (find_rows(messages, tid_of), alter_row, "CDC", "value"),
            (find_rows(messages, tid_of), lambda message: None, "CDC", "missing")):
        for tid, place in pick(found, keys, tids):
            lies[place] = lie
            expected.append([tid, axiom, kind])
    with open(sys.argv[2], "w") as out:
        for message in messages:
            lie = lies.get((message["topic"], message.get("offset")))
            message = lie(message) if lie else message
            if message:
                out.write(json.dumps(message) + "\n")
    print(json.dumps(sorted(expected), separators=(",", ":")))


main()
