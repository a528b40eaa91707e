#!/usr/bin/env python3
"""Random streams of a MariaDB whose clients use XA without `xa=yes`, of a correct database: what a client says is never violated.

    xa.py COUNT FIRST     ISOCHRON is the program; streams FIRST to FIRST + COUNT - 1, each at one level

Rows of an XA transaction stand in the log at its PREPARE, in a group without END; its COMMIT or ROLLBACK is a group of its own, of which
Debezium sends a BEGIN or nothing. Clients call a transaction by the GTID of either, or by a name of their own. A connector starts over,
and streams end anywhere. Every third stream has a lie: a reader saw what nobody wrote; then it must not hold.

The last of standard output counts exit statuses; 1 if anything was wrong.
"""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

KEYS = range(1, 5)
SOURCES = ["--source", "debezium:s.s.kv,value=v", "--source", "debezium:s.transaction", "--source", "history:c"]


class Stream:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.values = {key: 100 * key for key in KEYS}
        self.gtid, self.place, self.value = 10, 1000, 1000
        self.prepared, self.locked = [], set()
        self.messages, self.groups, self.records = [], [], []  # groups: from where to where among messages
        for key in KEYS:
            self.row(key, None, self.values[key], {1: "first", KEYS[-1]: "last"}.get(key, "true"))
        for _ in range(self.random.randint(3, 12)):
            self.random.choice([self.commit, self.commit, self.prepare, self.resolve, self.read, self.read, self.change_nothing])()

    def name(self, gtid):
        return f"0-1-{gtid}"

    def row(self, key, before, after, snapshot="false"):
        self.place += 100
        body = {"before": before and {"k": key, "v": before}, "after": {"k": key, "v": after}, "op": "u" if before else "r",
                "source": {"connector": "mariadb", "name": "s", "snapshot": snapshot, "db": "s", "sequence": None, "table": "kv", "server_id": 1,
                           "gtid": self.name(self.gtid) if before else None, "file": "b.000001", "pos": self.place, "row": 0}}
        if before:
            body["transaction"] = {"id": self.name(self.gtid), "total_order": 1, "data_collection_order": 1}
        self.messages.append(("s.s.kv", json.dumps({"k": key}), body))

    def edge(self, status, count=None):
        tables = [{"data_collection": "s.kv", "event_count": count}] if count else []
        self.messages.append(("s.transaction", None, {"status": status, "id": self.name(self.gtid), "event_count": count, "ts_ms": 1,
                                                      "data_collections": None if count is None else tables}))

    def record(self, tid, operations, **more):
        self.records.append({"tid": tid, "sid": f"s{self.random.randint(1, 3)}", **more, "ops": operations})

    def begin(self):
        self.gtid += 1
        self.groups.append((len(self.messages), None))
        self.edge("BEGIN")

    def end(self):
        self.groups[-1] = (self.groups[-1][0], len(self.messages))

    def change(self):
        """Changes some keys that nobody has prepared: what the client did, and the new values."""
        free = [key for key in KEYS if key not in self.locked]
        operations, after = [], {}
        for key in self.random.sample(free, self.random.randint(1, min(2, len(free)))) if free else []:
            self.value += 1
            self.row(key, self.values[key], self.value)
            if self.random.random() < 0.6:
                operations.append({"t": "r", "k": f"s.kv/{key}", "v": self.values[key]})
            operations.append({"t": "w", "k": f"s.kv/{key}", "v": self.value})
            after[key] = self.value
        return operations, after

    def commit(self):
        self.begin()
        operations, after = self.change()
        self.edge("END", len(after))
        self.end()
        self.values.update(after)
        if operations and self.random.random() < 0.7:
            self.record(self.name(self.gtid), operations)

    def prepare(self):
        self.begin()
        operations, after = self.change()
        self.end()
        self.locked |= set(after)
        self.prepared.append((self.gtid, operations, after))

    def resolve(self):
        if not self.prepared:
            return
        gtid, operations, after = self.prepared.pop(self.random.randrange(len(self.prepared)))
        if self.random.random() < 0.5:
            self.begin()
            self.end()
        else:
            self.gtid += 1
        self.locked -= set(after)
        committed = self.random.random() < 0.4
        self.values.update(after if committed else {})
        if self.random.random() < 0.6 and operations:
            name = self.random.choice([self.name(self.gtid), self.name(gtid), f"x{gtid}"])
            status = "committed" if committed else self.random.choice(["aborted", "unknown"])
            self.record(name if committed or status == "unknown" else f"x{gtid}", operations, status=status)

    def change_nothing(self):
        self.begin()
        self.edge("END", 0)
        self.end()

    def read(self):
        keys = self.random.sample(KEYS, 2)
        self.record(f"r{len(self.records)}", [{"t": "r", "k": f"s.kv/{key}", "v": self.values[key]} for key in keys],
                    snapshot=self.name(self.gtid))

    def lie(self):
        """False: nobody reads by a snapshot."""
        readers = [record for record in self.records if "snapshot" in record]
        if readers:
            self.random.choice(readers)["ops"][0]["v"] = 999999
        return bool(readers)

    def arrive(self):
        """What a connector that may start over sends, up to where the stream ends: messages of the change stream."""
        sent, groups = self.messages, [group for group in self.groups if group[0] < group[1]]
        way = self.random.choice(["whole", "whole", "again", "within", "cut", "again and cut"])
        if groups and way != "whole":
            first = self.random.randrange(len(groups))
            last = self.random.randrange(first, len(groups))
            start, end = groups[first]
            if way == "within":  # it goes on within a group: BEGIN comes again, rows do not, END counts none
                rest = [(topic, key, {**body, "event_count": 0, "data_collections": []} if body["status"] == "END" else body)
                        for topic, key, body in sent[start:end] if topic == "s.transaction"]
                sent = sent[:end] + rest + sent[end:]
            elif way != "cut":
                until = self.random.choice([groups[last][1], self.random.randint(*groups[last])])
                sent = sent[:until] + sent[start:]
            if "cut" in way:
                sent = sent[:len(sent) - self.random.randint(1, groups[-1][1] - groups[-1][0])]
        return sent

    def write(self, file):
        offsets = collections.Counter()
        for topic, key, body in self.arrive() + [("c", None, record) for record in self.records]:
            file.write(json.dumps({"topic": topic, "partition": 0, "offset": offsets[topic], "tstype": "create", "ts": 1795345268778,
                                   "key": key, "payload": json.dumps(body)}) + "\n")
            offsets[topic] += 1
        file.flush()


def main():
    count, first = int(sys.argv[1]), int(sys.argv[2])
    statuses, wrong = collections.Counter(), 0
    for seed in range(first, first + count):
        stream = Stream(seed)
        lies = seed % 3 == 0 and stream.lie()
        level = ("ser", "si", "rc")[seed // 3 % 3]
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            stream.write(file)
            done = subprocess.run([os.environ["ISOCHRON"], "replay", "--json", "--quiet", "--level", level, *SOURCES, file.name],
                                  capture_output=True, text=True, check=False)
            statuses["with a lie" if lies else "true", done.returncode] += 1
            if done.returncode in ((1, 3) if lies else (0, 3)):
                continue
            wrong += 1
            print(f"{seed} at {level}: status {done.returncode}{', with a lie' * lies} {done.stderr[:300]}{done.stdout[-600:]}")
            if os.environ.get("KEEP"):
                os.link(file.name, f"{os.environ['KEEP']}/{seed}.jsonl")
    print(", ".join(f"{number} {which}: {status}" for (which, status), number in sorted(statuses.items())))
    sys.exit(wrong > 0)


main()
