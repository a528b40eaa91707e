"""A recording as messages that know of which transaction they are, and the verdict on some of them. For cuts.py and faults.py.

ISOCHRON is the program.
"""
import json
import os
import subprocess
import tempfile

from interleave import as_messages, read_lines

PROGRAM = os.environ["ISOCHRON"]


class Message:
    """One line of a capture, and of what it is a part."""

    def __init__(self, line):
        self.line = line
        content = json.loads(line)
        self.declares = "offset" not in content
        self.place = (content["topic"], content["partition"])
        self.is_record = self.is_end = False
        self.id = None  # of its transaction, as the stream calls it
        self.body = body_of(content)
        if self.declares or not self.body:
            return
        source = self.body.get("source")
        if "ops" in self.body and "tid" in self.body:
            self.is_record = True
        elif self.body.get("status") in ("BEGIN", "END"):
            self.id = str(self.body["id"]).split(":")[0]
            self.is_end = self.body["status"] == "END"
        elif isinstance(source, dict) and self.body.get("op") in ("c", "u", "d"):
            of = self.body.get("transaction") or {}
            name = of.get("id") or source.get("gtid") or source.get("txId")
            self.id = None if name is None else str(name).split(":")[0]

    @property
    def is_row(self):
        return self.id is not None and "op" in self.body


def body_of(content):
    try:
        body = json.loads(content.get("payload") or "null")
        return body.get("payload", body) if isinstance(body, dict) else None
    except ValueError:
        return None


class Recording:
    def __init__(self, capture, records):
        lines = read_lines(capture) + (list(as_messages(read_lines(records))) if records else [])
        self.messages = [Message(line) for line in lines if line.strip() and b'"topic"' in line]
        self.parts = {}  # of each transaction: the rows and the END that it has
        for number, message in enumerate(self.messages):
            if message.id is not None and (message.is_row or message.is_end):
                self.parts.setdefault(message.id, set()).add(number)
        self.id_of = self.ids_of_records()

    def ids_of_records(self):
        """By the xid that it says, or by the row that has its tid."""
        records = {m.body["tid"]: m.body for m in self.messages if m.is_record}
        ids = {tid: str(int(body["xid"]) % 2**32) for tid, body in records.items() if "xid" in body}
        for message in self.messages:
            if message.is_row and isinstance(message.body.get("after"), dict):
                for value in message.body["after"].values():
                    if isinstance(value, str) and value in records:
                        ids.setdefault(value, message.id)
        return ids

    def not_whole(self, kept):
        """Why these messages cannot hold, or None."""
        for number in kept:
            message = self.messages[number]
            if message.is_record and message.body.get("status", "committed") == "committed":
                name = self.id_of.get(message.body["tid"])
                if not self.parts.get(name, set()) <= kept:
                    return f"the record {message.body['tid']} tells of {name}, which is not whole"
            elif message.is_end and not self.parts[message.id] <= kept:
                return f"an END tells of {message.id}, which is not whole"
        return None


def judge(lines, options):
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(b"".join(lines))
        file.flush()
        done = subprocess.run([PROGRAM, "replay", "--json", "--max-violations", "0", *options, file.name],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        verdict = json.loads(done.stdout)
    except ValueError:
        verdict = {"verdict": None, "violations": []}
    found = {(v["axiom"], tuple(sorted(v["tids"])), v.get("key")) for v in verdict["violations"] if not v.get("doubtful")}
    return done.returncode, verdict, found, done.stderr.decode(errors="replace").strip()
