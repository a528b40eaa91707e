"""A recording as messages that know of which transaction they are, and the verdict on some of them. For cuts.py and faults.py.

ISOCHRON is the program.
"""
import fnmatch
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
        self.time = content.get("ts") or 0
        self.place = (content["topic"], content["partition"])
        self.is_record = self.is_end = False
        self.id = None  # of its transaction, as the stream calls it
        self.table = None  # of a row
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
            self.table = f"{source.get('schema') or source.get('db')}.{source.get('table')}"

    @property
    def is_row(self):
        return self.id is not None and "op" in self.body


def body_of(content):
    try:
        body = json.loads(content.get("payload") or "null")
        return body.get("payload", body) if isinstance(body, dict) else None
    except ValueError:
        return None


class Source:
    """A --source of `isochron replay`: which messages it reads, and which of them it judges."""

    def __init__(self, word):
        topic, *given = word.split(":", 1)[1].split(",")
        options = dict(option.split("=", 1) for option in given if "=" in option)
        self.topic = topic
        self.tables = options["tables"].split(";") if "tables" in options else None
        self.marks = options.get("marker", "").rpartition(".")[0]
        self.is_reported = options.get("reported") != "no"

    def reads(self, message):
        return fnmatch.fnmatchcase(message.place[0], self.topic)

    def judges(self, message, ends):
        """Whether it is a row of which anything tells: a table of markers only says whose a transaction is."""
        return (self.is_reported or message.id in ends) and message.table != self.marks and (self.tables is None or message.table in self.tables)


class Recording:
    """`options` are those of `isochron replay`: what they do not read is part of no transaction."""

    def __init__(self, capture, records, options):
        lines = read_lines(capture) + (list(as_messages(read_lines(records))) if records else [])
        self.messages = [Message(line) for line in lines if line.strip() and b'"topic"' in line]
        sources = [Source(word) for at, word in enumerate(options) if at and options[at - 1] == "--source"]
        self.parts = {}  # of each transaction: the lines of rows and of the END that it has; one may be there twice
        self.marks = {}  # rows of markers
        ends = {m.id for m in self.messages if m.is_end and any(source.reads(m) for source in sources)}
        # Where no END counts rows, only records tell that there are any.
        named = {op["k"].split("/")[0] for m in self.messages if m.is_record for op in m.body["ops"] if "k" in op}
        for message in self.messages:
            source = next((source for source in sources if source.reads(message)), None)
            message.is_read = source is not None
            if message.is_read and message.id is not None and (message.is_end or
                    (message.is_row and source.judges(message, ends) and (ends or message.table in named))):
                self.parts.setdefault(message.id, set()).add(message.line)
            elif message.is_read and message.is_row and message.table == source.marks:
                self.marks.setdefault(message.id, set()).add(message.line)
        self.by_tid = self.ids_of_records()

    def ids_of_records(self):
        """By tid, of records without an xid: of the row that has it."""
        tids = {m.body["tid"] for m in self.messages if m.is_record}
        return {value: message.id for message in self.messages
                if message.is_row and isinstance(message.body.get("after"), dict)
                for value in message.body["after"].values() if isinstance(value, str) and value in tids}

    def id_of(self, record):
        """What the stream calls the transaction of the record."""
        return str(int(record["xid"]) % 2**32) if "xid" in record else self.by_tid.get(record["tid"])

    def not_whole(self, kept):
        """Why these messages cannot hold, or None."""
        came = {self.messages[number].line for number in kept}
        for number in kept:
            message = self.messages[number]
            if not message.is_read:
                continue
            if message.is_record and message.body.get("status", "committed") == "committed":
                name = self.id_of(message.body)
                if not self.parts.get(name, set()) | self.marks.get(name, set()) <= came:
                    return f"the record {message.body['tid']} tells of {name}, which is not whole"
            elif message.is_end and not self.parts[message.id] <= came:
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
