"""Random transactions on a table of three rows, run at snapshot isolation as PostgreSQL does and recorded with its
snapshots; then `isochron check --level ser`, and every order of the committed transactions tried out: each query must return
what it returned, each read find its row or not, and the writers of each row keep the order of their commits.

A query is placed by its snapshot: where a row has a state again that it had before, an order that the snapshots exclude may
explain the results as well; such histories are only checked for what no order explains. Of counts, sums and rows without keys
each row must be to them what it was; a least or greatest value must be the same; where several rows had it, the answer
may be undecided, and where it passes from one row to another an order that the snapshots exclude may explain it. Each answer's evidence must be confirmed, and
each violation explained.

    serial.py PROGRAM HISTORIES SEED
"""
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

PROGRAM, HISTORIES, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ROWS, GONE = (1, 2, 3), "gone"
CONDITIONS = [None, ">= 1", "= 0", "= 1", "= 2"]
AGGREGATES = {"count": lambda all, some: all, "count(v)": lambda all, some: len(some), "sum(v)": lambda all, some: sum(some) if some else None,
              "min(v)": lambda all, some: min(some, default=None), "max(v)": lambda all, some: max(some, default=None)}
EXTREMES = ("min(v)", "max(v)")
WHATS = ["rows", "rows", "bag", "count", "count(v)", "sum(v)", "sum(v)", *EXTREMES]


def matches(condition, value):
    if condition is None:
        return True
    if value is None:
        return False
    operator, constant = condition.split()
    return value >= int(constant) if operator == ">=" else value == int(constant)


def adds(what, condition, value):
    """What a row with the value is to the result: nothing, or one more, or its value."""
    if value == GONE or not matches(condition, value) or (value is None and what not in ("rows", "count", "bag")):
        return None
    return "one" if what in ("rows", "count", "count(v)") else [value]


def ask(rows, query):
    """What the query makes of each row; of a least or greatest value the value."""
    what, condition = query
    parts = {row: adds(what, condition, value) for row, value in rows.items() if adds(what, condition, value)}
    return AGGREGATES[what](0, [part[0] for part in parts.values()]) if what in EXTREMES else parts


class Transaction:
    def __init__(self, number, active, committed, now):
        running = [other.xid for other in active]
        self.xid = 701 + number
        self.snapshot = (min(running + [self.xid]), self.xid, running)
        self.view, self.start = dict(committed), now
        self.operations, self.wrote, self.cts = [], set(), None

    def operate(self, draw):
        if draw.random() < 0.5:
            query = draw.choice(WHATS), draw.choice(CONDITIONS)
            self.operations.append(("q", query, ask(self.view, query), dict(self.view)))
            return
        row = draw.choice(ROWS)
        if draw.random() < 0.4:
            self.operations.append(("r", row, row in self.view))
            return
        self.wrote.add(row)
        if row in self.view and draw.random() < 0.3:
            self.operations.append(("d", row))
            del self.view[row]
            if draw.random() < 0.5:
                return
        self.view[row] = draw_value(draw)
        self.operations.append(("w", row, self.view[row]))

    def record(self):
        least, most, running = self.snapshot
        record = {"tid": str(self.xid), "sid": str(self.xid), "ops": [spell(one) for one in self.operations],
                  "snapshot": f"{least}:{most}:{','.join(map(str, sorted(running)))}"}
        if self.wrote:
            record["xid"] = self.xid
        if self.cts is None:
            record["status"] = "aborted"
        return record


def draw_value(draw):
    return draw.choice([0, 1, 2, 0, 1, 2, None])


def spell(operation):
    if operation[0] == "r":
        return {"t": "r", "row": f"t/{operation[1]}", **({"cells": {}} if operation[2] else {"v": None})}
    if operation[0] == "d":
        return {"t": "d", "row": f"t/{operation[1]}"}
    if operation[0] == "w":
        return {"t": "w", "row": f"t/{operation[1]}", "cells": {"v": operation[2]}}
    (what, condition), view = operation[1], operation[3]
    values = [value for value in view.values() if matches(condition, value)]
    query = {"t": "q", "table": "t"}
    if condition:
        query["where"] = "v " + condition
    if what == "rows":
        query["rows"] = {str(row): {} for row in operation[2]}
    elif what == "bag":
        query.update(columns=["v"], bag=[[value] for value in values])
    else:
        query["agg"] = {what: AGGREGATES[what](len(values), [value for value in values if value is not None])}
    return query


def run(draw):
    """What was there at first, all transactions, and the states that each row went through."""
    initial = {row: draw_value(draw) for row in ROWS if draw.random() < 0.6}
    committed, changed, active, everything, now = dict(initial), {}, [], [], 0
    states = {row: [initial.get(row, GONE)] for row in ROWS}
    count = draw.randint(2, 5)
    while len(everything) < count or active:
        now += 1
        if len(everything) < count and (not active or draw.random() < 0.35):
            active.append(Transaction(len(everything), active, committed, now))
            everything.append(active[-1])
            continue
        transaction = draw.choice(active)
        if len(transaction.operations) < 4 and draw.random() < 0.7:
            transaction.operate(draw)
            continue
        active.remove(transaction)
        if not transaction.operations or any(changed.get(row, 0) > transaction.start for row in transaction.wrote):
            continue
        transaction.cts = now
        for row in transaction.wrote:
            changed[row] = now
            committed.pop(row, None)
            if row in transaction.view:
                committed[row] = transaction.view[row]
            states[row].append(committed.get(row, GONE))
    return initial, everything, states


def explains(initial, order):
    rows, last = dict(initial), {}
    for transaction in order:
        if any(last.get(row, 0) > transaction.cts for row in transaction.wrote):
            return False
        last.update((row, transaction.cts) for row in transaction.wrote)
        for operation in transaction.operations:
            if operation[0] == "q" and ask(rows, operation[1]) != operation[2]:
                return False
            if operation[0] == "r" and operation[2] != (operation[1] in rows):
                return False
            if operation[0] == "d":
                rows.pop(operation[1], None)
            elif operation[0] == "w":
                rows[operation[1]] = operation[2]
    return True


def queries_of(committed):
    return [operation for transaction in committed for operation in transaction.operations if operation[0] == "q"]


def comes_back(states, query):
    """Whether a row is to the query again what it was and was no more."""
    runs = [[part for part, _ in itertools.groupby(str(adds(*query, value)) for value in of_row)] for of_row in states.values()]
    return any(len(set(run)) < len(run) for run in runs)


def returns(states, committed):
    """Whether a row has a state again that it had and lost; to reads, whether it is there."""
    there = {row: [part for part, _ in itertools.groupby(state != GONE for state in of_row)] for row, of_row in states.items()}
    read = {operation[1] for transaction in committed for operation in transaction.operations if operation[0] == "r"}
    return (any(len(there[row]) > 2 for row in read) or any(len(set(of_row)) < len(of_row) for of_row in states.values()) or
            any(comes_back(states, query[1]) for query in queries_of(committed)))


def has_twins(committed):
    """Whether several rows had a least or greatest value, so that a query of it stands only where one of them keeps it."""
    return any(operation[1][0] in EXTREMES and
               sum(adds(*operation[1], value) == [operation[2]] for value in operation[3].values()) > 1 for operation in queries_of(committed))


def passes_on(initial, committed):
    """Whether a least or greatest value is once that of some rows, and once that of others."""
    rows, states = dict(initial), [dict(initial)]
    for transaction in sorted(committed, key=lambda transaction: transaction.cts):
        for row in transaction.wrote:
            rows.pop(row, None)
            if row in transaction.view:
                rows[row] = transaction.view[row]
        states.append(dict(rows))
    for operation in queries_of(committed):
        owners = {}
        for state in states if operation[1][0] in EXTREMES else []:
            value = ask(state, operation[1])
            owners.setdefault(value, set()).add(tuple(row for row in ROWS if row in state and adds(*operation[1], state[row]) == [value]))
        if any(len(rows) > 1 for rows in owners.values()):
            return True
    return False


def isochron(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)


def judge(folder, records):
    history, verdict, evidence = (os.path.join(folder, name) for name in ("h.jsonl", "v.json", "e.jsonl"))
    with open(history, "w") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    answer = isochron("check", "--level", "ser", "--json", "--evidence", evidence, history)
    with open(verdict, "w") as file:
        file.write(answer.stdout)
    outcome = json.loads(answer.stdout)["verdict"] if answer.stdout else answer.stderr
    faults = []
    if outcome in ("holds", "violated") and isochron("verify", history, evidence).returncode:
        faults.append("its evidence is not confirmed")
    if outcome == "violated" and "contradiction" not in isochron("explain", history, verdict).stdout:
        faults.append("it is not explained")
    return outcome, faults


def check(folder, seed, seen):
    initial, everything, states = run(random.Random(seed))
    committed = [transaction for transaction in everything if transaction.cts is not None]
    if not committed:
        return []
    records = [transaction.record() for transaction in everything]
    if initial:
        records.insert(0, {"tid": "i", "sid": "i", "xid": 700, "snapshot": "700:700:", "ops": [
            {"t": "w", "row": f"t/{row}", "cells": {"v": value}} for row, value in initial.items()]})
    outcome, faults = judge(folder, records)
    expected = "holds" if any(explains(initial, order) for order in itertools.permutations(committed)) else "violated"
    seen[expected] += 1
    if outcome == "undecided" and has_twins(committed):
        seen["undecided"] += 1
    elif outcome != expected and not (outcome == "violated" and (returns(states, committed) or passes_on(initial, committed))):
        faults.append(f"{outcome}, and all orders together say: {expected}")
    return [f"seed {seed}: {fault}\n" + "\n".join(map(json.dumps, records)) for fault in faults]


def main():
    seen, faults = {"holds": 0, "violated": 0, "undecided": 0}, []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(SEED, SEED + HISTORIES):
            faults += check(folder, seed, seen)
    for fault in faults[:3]:
        print("\n".join("# " + line for line in fault.splitlines()))
    good = not faults and seen["violated"] >= HISTORIES // 100
    print("ok" if good else "not ok", f"1 - {HISTORIES} histories with queries say at ser what all orders say:",
          f"{seen['violated']} violated; {seen['undecided']} undecided, for a least value that several rows had")
    print("1..1")
    return 0 if good else 1


sys.exit(main())
