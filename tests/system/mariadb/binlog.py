#!/usr/bin/env python3
"""What the application's records say against the binlog itself: read by mariadb-binlog, without Kafka, Debezium or Isochron.

    binlog.py LEVEL RECORDS DATABASE FILE...     one line of JSON

LEVEL is ser (each read sees what the commits before its own left) or si (what its snapshot sees). Files of several servers are one
log by their GTIDs; positions in records are of the server whose files come first. Found are `reads` (of what was not there) and `writes`
(other ones than the log has) by transaction, and at si `conflicts`: [later writer, earlier writer that it did not see, key].
"""
import json
import os
import re
import subprocess
import sys

KEY_COLUMNS = {"account": 2, "item": 1, "kv": 1, "bulk": 1}
VALUE_COLUMN = {"account": 3, "item": 3, "kv": 2, "bulk": 2}
GTID = re.compile(r"end_log_pos (\d+) .*\tGTID (\d+)-(\d+)-(\d+) ?(.*)")
END_POSITION = re.compile(r"^#\d{6} .*end_log_pos (\d+) ")
CHANGE = re.compile(r"### (INSERT INTO|UPDATE|DELETE FROM) `(.*)`\.`(.*)`")
CELL = re.compile(r"###   @(\d+)=(.*)")


def cell(text):
    if text == "NULL":
        return None
    if text.startswith("'"):
        return text[1:-1].replace("\\'", "'").replace("\\\\", "\\")
    return int(text.split()[0])


def escape(text):
    return str(text).replace("%", "%25").replace("/", "%2F").replace(",", "%2C")


class Group:
    """A transaction of the log."""

    def __init__(self, gtid, number):
        self.gtid, self.number, self.rows, self.marker, self.end, self.committed = gtid, number, {}, None, 0, True

    def take(self, change, table, images):
        columns = images[-1]
        if table == "tx_marker":
            self.marker = columns[2] if change != "DELETE FROM" else self.marker
        if table not in KEY_COLUMNS:
            return
        name = ",".join(escape(columns[i + 1]) for i in range(KEY_COLUMNS[table]))
        self.rows[f"{table}/{name}"] = None if change == "DELETE FROM" else columns[VALUE_COLUMN[table]]


def read_log(path, database):
    """The groups of one file, in its order."""
    text = subprocess.run(["mariadb-binlog", "-v", "--base64-output=DECODE-ROWS", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    group, change, images, ended = None, None, [], False
    for line in text.split("\n"):
        if change and not line.startswith("### WHERE") and not line.startswith("### SET") and not line.startswith("###   @"):
            if change[1] == database:
                group.take(change[0], change[2], images)
            change = None
        if line.startswith("### "):
            found = CHANGE.match(line)
            if found:
                change, images = found.groups(), []
            elif line in ("### WHERE", "### SET"):
                images.append({})
            else:
                number, value = CELL.match(line).groups()
                images[-1][int(number)] = cell(value)
            continue
        position = END_POSITION.match(line)
        begins = GTID.search(line) if position else None
        if begins:
            if group:
                yield group
            group, ended = Group("-".join(begins.group(2, 3, 4)), int(begins.group(4))), False
        if group and position and not ended:
            group.end = int(position.group(1))
            ended = "\tXid = " in line  # what follows before the next group is no part of it
        if group and line.startswith(("ROLLBACK", "XA PREPARE")) and "added by" not in line:  # at the end of a file
            group.committed = False
    if group:
        yield group


class Log:
    def __init__(self, paths, database):
        self.groups, self.ends, first = {}, {}, os.path.dirname(paths[0])
        for path in paths:
            for group in read_log(path, database):
                self.groups.setdefault(group.number, group)
                if os.path.dirname(path) == first:
                    self.ends.setdefault(os.path.basename(path), []).append((group.end, group.number))

    def seen(self, snapshot):
        """The number of the last commit that a snapshot sees."""
        if "-" in snapshot:
            return int(snapshot.split("-")[2])
        name, position = snapshot.rsplit(":", 1)
        return max((number for file, ends in self.ends.items() for end, number in ends
                    if file < name or (file == name and end <= int(position))), default=0)


class Replay:
    def __init__(self, level, records, log, database):
        self.level, self.log, self.database = level, log, database
        self.by_name = {record["tid"]: record for record in records}
        self.versions = {}  # key: [(number, value, tid, the last number that its writer's snapshot sees)]
        self.reads, self.writes, self.conflicts = set(), set(), []
        self.came = set()

    def value(self, key, seen):
        return next((value for number, value, _, _ in reversed(self.versions.get(key, [])) if number <= seen), None)

    def judge(self, record, group):
        """`group`: None for one that is not in the log."""
        now = group.number - 1 if group else 0
        seen = self.log.seen(record["snapshot"]) if self.level == "si" else now
        own = {}
        for operation in record["ops"]:
            key = operation["k"].split(".", 1)[1]
            if operation["t"] != "r":
                own[key] = operation.get("v")
            elif operation["v"] != (own[key] if key in own else self.value(key, seen)):
                self.reads.add(record["tid"])
        rows = group.rows if group else {}
        differ = [key for key in own if own[key] != (rows[key] if key in rows else self.value(key, now))]
        if group and (differ or any(key not in own for key in rows)):
            self.writes.add(record["tid"])
        return seen

    def take(self, group):
        record = self.by_name.get(group.marker) or self.by_name.get(group.gtid)
        tid, seen = None, None
        if record:
            tid = record["tid"]
            # A reader of unknown outcome is nobody's version, whether its marker came or not.
            if record.get("status") != "unknown" or any(operation["t"] != "r" for operation in record["ops"]):
                self.came.add(tid)
            if record.get("status") == "aborted":
                self.writes.add(tid)
            else:
                seen = self.judge(record, group)
        for key, value in group.rows.items():
            before = self.versions.setdefault(key, [])
            for number, _, other, _ in before:
                if self.level == "si" and tid and other and number > seen:
                    self.conflicts.append([tid, other, f"{self.database}.{key}"])
            before.append((group.number, value, tid, seen))

    def run(self):
        for number in sorted(self.log.groups):
            group = self.log.groups[number]
            if group.committed:
                self.take(group)
        for tid, record in self.by_name.items():
            if tid in self.came or record.get("status", "committed") != "committed":
                continue
            if any(operation["t"] != "r" for operation in record["ops"]):
                self.writes.add(tid)
            elif self.level == "si":
                self.judge(record, None)


def main():
    level, path, database, files = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    with open(path) as file:
        records = [json.loads(line) for line in file]
    replay = Replay(level, records, Log(files, database), database)
    replay.run()
    print(json.dumps({"reads": sorted(replay.reads), "writes": sorted(replay.writes), "conflicts": sorted(replay.conflicts),
                      "records": len(records), "joined": len(replay.came)}))


main()
