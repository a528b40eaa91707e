# Captures of one honest stream (a stale read and, in some, a lost update) with one record that is not honest, into the
# current folder. Honest records are in partition 0, the other one in partition 1 and before them.
import json

FAR = 2 ** 64 - 2


def capture(name, records):
    offsets = {}
    with open(name + ".jsonl", "w") as lines:
        for partition, record in records:
            offset = offsets.get(partition, 0)
            offsets[partition] = offset + 1
            payload = record if isinstance(record, str) else json.dumps(record)
            json.dump({"topic": "txns", "partition": partition, "offset": offset, "key": None, "payload": payload}, lines)
            lines.write("\n")


def transaction(tid, session, start, commit, operations, **more):
    return dict(tid=tid, sid=session, sts=start, cts=commit, ops=operations, **more)


def write(key, value):
    return {"t": "w", "k": key, "v": value}


def read(key, value):
    return {"t": "r", "k": key, "v": value}


stale = [transaction("w1", "a", 1, 2, [write("x", 1)]), transaction("w2", "a", 3, 4, [write("x", 2)]),
         transaction("w3", "a", 5, 6, [write("x", 3)]), transaction("rd", "b", 10, 10, [read("x", 2)])]
lost = [transaction("l1", "c", 20, 25, [write("y", 1)]), transaction("l2", "d", 21, 26, [write("y", 2)])]
promises = [(0, {"watermark": "1000"}), (1, {"watermark": "1000"})]


def poisoned(name, forged, honest, after=False):
    honest, forged = [(0, record) for record in honest], [(1, record) for record in forged]
    capture(name, (honest + forged if after else forged + honest) + promises)


poisoned("honest", [], stale + lost)
poisoned("garbage", ["x"], stale)
poisoned("garbage-after", ["x"], stale, after=True)
poisoned("garbage-beside", ["x"], stale + [transaction("odd", "e", 30, 30, [read("x", 77)])])
poisoned("far-promise", [{"watermark": str(FAR)}, transaction("late", "z", 1, 1, [read("q", None)])], stale)
poisoned("farthest-promise", [{"watermark": str(FAR + 1)}], stale)
poisoned("unknown", [dict(tid="u", sid="z", status="unknown", sts=9, ops=[write("x", 2)])], stale)
poisoned("aborted", [dict(tid="w3", sid="a", status="aborted", sts=5, ops=[write("x", 3)])], stale)
poisoned("reader-first", [transaction("rd", "b", 10, 10, [read("x", 3)])], stale)
poisoned("reader-after", [transaction("rd", "b", 10, 10, [read("x", 3)])], stale, after=True)
poisoned("writer-first", [transaction("l1", "zz", 20, 25, [write("other", 1)])], stale[:3] + lost)
poisoned("far-transaction", [transaction("far", "z", FAR - 600, FAR, [write("x", 9)])], stale)
poisoned("list", [transaction("li", "z", 0, 1, [{"t": "append", "k": "x", "v": 1}])], stale)
poisoned("explained", [transaction("fake", "z", 7, 8, [write("x", 2)])], stale)
