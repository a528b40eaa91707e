#!/usr/bin/env python3
"""Plants lies into the application's records.

    lies.py LEVEL RECORDS     the records with lies among them

Of transactions in the middle: reads of what nobody wrote; at si stale reads, of what another transaction had read of that row and which was
replaced before this one's snapshot; and writes of what the log does not have, the last ones of rows that nobody reads, since
whoever met such a write again would contradict it, too. Each concerns another transaction.
"""
import json
import sys

LIE = -666_000_000


def first_read(record, known):
    """Of a row that it reads once, before it does anything else with it."""
    for operation in record["ops"]:
        same = [other["t"] for other in record["ops"] if other["k"] == operation["k"]]
        if same[0] == "r" and same.count("r") == 1 and operation["t"] == "r" and known(operation):
            return operation
    return None


def plant(records, count, find, value, taken):
    number = 0
    for record in records:
        operation = None if record["tid"] in taken or record.get("status") else find(record)
        if operation and number < count:
            taken.add(record["tid"])
            operation["v"] = value(operation)
            number += 1


def last_of_bulk(records):
    """The operations that nobody meets again."""
    last = {}
    for record in records:
        for operation in record["ops"]:
            if ".bulk/" in operation["k"] and not record.get("status"):
                last[operation["k"]] = operation
    return {id(operation) for operation in last.values()}


def older(records):
    """For a read: what stood in its row before."""
    seen = {}
    before = {}
    for place, record in enumerate(records):
        for operation in record["ops"]:
            if operation["t"] != "r" or operation["v"] is None:
                continue
            history = seen.setdefault(operation["k"], [])
            if operation["v"] not in history:
                history.append(operation["v"])
            if len(history) > 2 and history[-1] == operation["v"]:
                before[id(operation)] = history[-3]
    return before


def main():
    level, path = sys.argv[1], sys.argv[2]
    with open(path) as file:
        records = [json.loads(line) for line in file]
    stale, last = older(records), last_of_bulk(records)
    middle, taken = records[len(records) // 3:], set()
    lie = iter(range(LIE, 0))
    plant(middle, 6, lambda record: first_read(record, lambda operation: True), lambda operation: next(lie), taken)
    if level == "si":
        plant(middle, 6, lambda record: first_read(record, lambda operation: id(operation) in stale), lambda operation: stale[id(operation)], taken)
    plant(middle, 4, lambda record: next((operation for operation in record["ops"] if id(operation) in last), None), lambda operation: next(lie), taken)
    for record in records:
        print(json.dumps(record))


main()
