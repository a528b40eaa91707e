#!/usr/bin/env python3
"""One known fault in a true recording, and whether the verdict says that and nothing else.

    faults.py CAPTURE KIND COUNT FIRST OPTION...     the options are those of `isochron replay`; ISOCHRON is the program

    lag      the change stream ends some transactions early, the records are whole: undecided or holds, no violation
    row      one changed row of a transaction with a record is missing, its END counts it: undecided, that transaction is named as
             incomplete, with its collection; no violation
    cell     a value that a reader read is another one: EXT or INT on that transaction and that cell alone. Of 100 at most 5 may be
             unjudged
    query    one row of a whole answer is missing: EXT missing-row on that transaction and that row alone
    killed   who records counts its records, and is killed: no violation; it holds only if nothing is missing that was recorded before
             the last of what came. Or it ends in order: the verdict is as without counts

The last of standard output is "N KIND: G as they must be, U unjudged, B wrong"; exit status 1 if anything was wrong.
"""
import concurrent.futures
import json
import os
import random
import re
import sys

from recording import Recording, judge

UNJUDGED = 5  # of 100 cells


def as_line(message, body):
    content = json.loads(message.line)
    content["payload"] = json.dumps(body)
    return json.dumps(content).encode() + b"\n"


class Faults:
    """Draws faults of one recording: (lines that come, what is expected)."""

    def __init__(self, recording):
        self.recording = recording
        self.lines = [m.line for m in recording.messages]
        records = [(n, m.body) for n, m in enumerate(recording.messages)
                   if m.is_record and m.body.get("status", "committed") == "committed"]
        self.recorded = {recording.id_of(body): body["tid"] for _, body in records if recording.id_of(body)}
        self.readers = [(n, body) for n, body in records if "xid" not in body]

    def without(self, gone):
        return [line for n, line in enumerate(self.lines) if n not in gone]

    def lag(self, chance):
        messages = self.recording.messages
        ends = {m.id: n for n, m in enumerate(messages) if m.is_end}  # the last of each
        last = sorted(ends, key=ends.get)[-chance.choice([1, 2, 4, 10, 40, 100, len(ends)]):]
        return self.without({n for n, m in enumerate(messages) if m.id in set(last)}), last

    def row(self, chance):
        messages = self.recording.messages
        number = chance.choice([n for n, m in enumerate(messages) if m.is_row and m.body["op"] == "u" and m.id in self.recorded])
        source = messages[number].body["source"]
        return self.without({number}), (messages[number].id, f"{source['schema']}.{source['table']}")

    def changed(self, number, body):
        lines = list(self.lines)
        lines[number] = as_line(self.recording.messages[number], body)
        return lines

    def cell(self, chance):
        number, body = chance.choice([(n, b) for n, b in self.readers if any(o["t"] == "r" and o.get("cells") for o in b["ops"])])
        body = json.loads(json.dumps(body))
        operation = chance.choice([o for o in body["ops"] if o["t"] == "r" and o.get("cells")])
        column = chance.choice(sorted(operation["cells"]))
        old = operation["cells"][column]
        number_like = old is None or re.fullmatch(r"-?\d+(\.\d+)?", old)
        operation["cells"][column] = "987654" if number_like else {"t": "f", "f": "t"}.get(old, "2001-01-01 00:00:00")
        return self.changed(number, body), (body["tid"], f"{operation['row']}#{column}")

    def query(self, chance):
        number, at = chance.choice([(n, at) for n, (_, b) in enumerate(self.readers) for at, o in enumerate(b["ops"])
                                    if o["t"] == "q" and isinstance(o.get("rows"), dict) and len(o["rows"]) > 1
                                    and not o.get("partial")])
        number, body = self.readers[number]
        body = json.loads(json.dumps(body))
        operation = body["ops"][at]
        row = chance.choice(sorted(operation["rows"]))
        del operation["rows"][row]
        return self.changed(number, body), (body["tid"], f"{operation['table']}/{row}")


    def killed(self, chance):
        messages = [m for m in self.recording.messages if m.is_read]
        sent = sorted(m.time for m in messages if m.is_record)
        alive, ends = chance.choice([2000, 10000]), chance.random() < 0.2
        death = sent[-1] + 1 if ends else chance.randint(sent[0], sent[-1] + 2000) - chance.choice([0, 5, 500])
        stream = death + chance.choice([0, 500, 10 ** 9])  # until then rows come
        of_clients = {m.place for m in messages if m.is_record}
        came = [m for m in messages if m.declares or m.time <= (death if m.place in of_clients else stream)]
        lost = [] if ends else [time for time in sent if death < time <= max((m.time for m in came), default=0)]
        return with_counts(came, sent[0], sent[-1] + 1 if ends else death, alive, ends), (death, ends, len(lost))


def with_counts(messages, begin, end, alive, ends):
    """Lines of the messages, and beside each record what its recorder says, from `begin` to `end`."""
    records = sorted((m for m in messages if m.is_record), key=lambda m: m.time)
    places = {m.place for m in records}
    topic = min(places)[0] if records else "clients"
    sessions, offsets, lines = {}, {}, []

    def say(place, time, body):
        offsets[place] = offsets.get(place, -1) + 1
        lines.append(json.dumps({"topic": place[0], "partition": place[1], "offset": offsets[place], "tstype": "create", "ts": time,
                                 "key": None, "payload": json.dumps(body)}).encode() + b"\n")

    words = [(time, sum(m.time <= time for m in records)) for time in range(begin, end + 1, alive)] if begin <= end else []
    for time, count in words:  # a partition of their own
        say((topic, 1000), time, {"recorder": "r", "records": 0 if time == begin else count, "alive_ms": alive})
    for message in messages:
        if message.place not in places or message.declares:
            lines.append(message.line)
            continue
        if not message.is_record:
            say(message.place, message.time, message.body)
            continue
        sid = message.body["sid"]
        if sid not in sessions:
            say(message.place, message.time, {"session": sid, "records": 0, "recorder": "r"})
        sessions[sid] = sessions.get(sid, 0) + 1
        say(message.place, message.time, {**message.body, "sno": sessions[sid] - 1})
    if ends:
        say((topic, 1000), end, {"recorder": "r", "records": len(records), "ended": True})
    return lines


def quiet(status, verdict):
    """No violation, and no doubtful one either."""
    if verdict["violations"]:
        first = verdict["violations"][0]
        return f"{len(verdict['violations'])} violations, the first: {first['axiom']} {first['tids']} {first.get('key')}"
    return None if status in (0, 3) else f"exit status {status}"


def lag_wrong(_, status, verdict, said):
    return quiet(status, verdict)


def row_wrong(expected, status, verdict, said):
    what = quiet(status, verdict)
    if what:
        return what
    if status != 3:
        return f"exit status {status}"
    named = [line for line in said.split("\n") if re.search(rf"\b{expected[0]}\b", line) and expected[1] in line]
    return None if named else f"nothing names transaction {expected[0]} and {expected[1]}: {said[-200:]}"


def lie_wrong(expected, status, verdict, axioms, kind=None):
    found = {(v["axiom"], tuple(v["tids"]), v.get("key")) for v in verdict["violations"]}
    if any(v["axiom"] not in axioms or v["tids"][0] != expected[0] or v.get("key") != expected[1] or (kind and v.get("kind") != kind)
           for v in verdict["violations"]):
        return f"expected {expected}, found {sorted(found, key=str)[:3]}"
    if not found:
        return "unjudged" if status == 3 else f"exit status {status}"
    return None if status == 1 else f"exit status {status}"


def killed_wrong(expected, status, verdict, said):
    _, ends, lost = expected
    what = quiet(status, verdict)
    if what or (lost and status == 0):
        return what or f"{lost} records are missing, and it holds"
    return "records-lost" if ends and verdict["reason"] == "records-lost" else None


def cell_wrong(expected, status, verdict, said):
    return lie_wrong(expected, status, verdict, ("EXT", "INT"))


def query_wrong(expected, status, verdict, said):
    return lie_wrong(expected, status, verdict, ("EXT",), "missing-row")


def main():
    capture, kind, count, first, options = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]
    faults = Faults(Recording(capture, None, options))
    measure = {"lag": lag_wrong, "row": row_wrong, "cell": cell_wrong, "query": query_wrong,
               "killed": killed_wrong}[kind]
    unjudged, bad = 0, 0

    def one(seed):
        lines, expected = getattr(faults, kind)(random.Random(seed))
        status, verdict, _, said = judge(lines, options)
        return seed, expected, measure(expected, status, verdict, said)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for seed, expected, what in pool.map(one, range(first, first + count)):
            if what == "unjudged" and kind == "cell" and unjudged < max(1, count * UNJUDGED // 100):
                unjudged += 1
            elif what:
                bad += 1
                print(f"{kind} {seed}, {json.dumps(expected)[:200]}: {what}")
    print(f"{count} {kind}: {count - unjudged - bad} as they must be, {unjudged} unjudged, {bad} wrong")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
