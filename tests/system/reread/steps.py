"""What a client does, step by step, and how that is written in a file.

    @ client TimeZone=UTC           a new session, with settings of its startup packet
    @ direct                        SQL that another session runs beside the proxy
    @ simple                        one Query message, as it stands
    @ extended {"values": ["1"]}    Parse, Bind, Describe, Execute, Sync; types: OIDs; binary: of results; limit: rows of an Execute
    @ prepare NAME                  Parse and Describe by name
    @ execute NAME {"values": []}   Bind, Execute, Sync
    @ pipeline                      statements, each on one line, Parse to Execute, and one Sync

The SQL stands in the lines below. Lines that begin with # before the first @ are a comment.
"""
import json

import wire


class Step:
    __slots__ = ("kind", "sql", "name", "options")

    def __init__(self, kind, sql="", name="", **options):
        self.kind, self.sql, self.name, self.options = kind, sql, name, options

    def text(self):
        head = "@ " + self.kind
        if self.kind == "client":
            head += "".join(" %s=%s" % (k, v.replace(" ", "+")) for k, v in self.options.items())
        else:
            head += (" " + self.name if self.name else "") + (" " + json.dumps(self.options)
                if self.options else "")
        return head + "\n" + (self.sql + "\n" if self.sql else "")

    def messages(self):
        """Bytes, and how many ReadyForQuery answer them."""
        o = self.options
        values, results = o.get("values", ()), (1,) if o.get("binary") else ()
        if self.kind == "simple" or self.sql.startswith("COPY"):  # a Sync is not answered while rows are copied
            return wire.query(self.sql.encode(o.get("encoding", "utf-8"))), 1
        if self.kind == "extended":
            out = wire.parse("", self.sql, o.get("types", ())) + wire.bind("", "", values, (),
                results) + wire.describe()
            for _ in range(3 if o.get("limit") else 1):
                out += wire.execute("", o.get("limit", 0))
            return out + wire.SYNC, 1
        if self.kind == "prepare":
            return wire.parse(self.name, self.sql, o.get("types", ())) + wire.describe("S",
                    self.name) + wire.SYNC, 1
        if self.kind == "execute":
            describe = wire.describe() if o.get("describe") else b""
            return wire.bind("", self.name, values, (),
                             results) + describe + wire.execute() + wire.SYNC, 1
        if self.kind == "pipeline":
            out = b""
            for sql in self.sql.split("\n"):
                out += wire.parse("", sql) + wire.bind() + wire.describe() + wire.execute()
            return out + wire.SYNC, 1
        raise ValueError(self.kind)

    def count(self):
        return {"pipeline": self.sql.count("\n") + 1, "prepare": 0, "direct": 0,
                "client": 0}.get(self.kind, 1)


def write(steps):
    return "".join(step.text() for step in steps)


def read(text):
    steps, lines = [], []

    def over():
        if steps:
            steps[-1].sql = "\n".join(lines).rstrip("\n")
    for line in text.split("\n"):
        if line.startswith("@ "):
            over()
            lines = []
            kind, _, rest = line[2:].partition(" ")
            if kind == "client":
                pairs = dict(word.split("=", 1) for word in rest.split())
                steps.append(Step(kind, **{k: v.replace("+", " ") for k, v in pairs.items()}))
                continue
            name, brace, options = rest.partition("{")
            steps.append(Step(kind, "", name.strip(), **(json.loads(brace + options) if brace
                                                         else {})))
        elif steps:
            lines.append(line)
    over()
    return steps
