"""Is one operation of a record true of a state? And is one record true of a transaction?

A state is what the server said (state.py). A condition is asked of the server, over the rows of the state, twice: with the columns' own
types, as the statement meant it, and as those compare who read records: numbers as numbers, times as times, all else by bytes.
"""
import datetime
import json
import re
from decimal import Decimal, InvalidOperation

import wire
from state import decode, encode

INTEGERS = ("smallint", "integer", "bigint")
ORDERED = INTEGERS + ("boolean", "date", "timestamp without time zone", "timestamp with time zone")
SPELLED = re.compile(r"^(\d{4,})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d(?::?\d\d)?)$")


def utc(value):
    match = SPELLED.match(value)
    if not match or len(match.group(1)) > 4:
        return value
    zone = match.group(8)
    minutes = 0
    if zone != "Z":
        minutes = int(zone[1:3]) * 60 + (int(zone[-2:]) if len(zone) > 3 else 0)
        minutes *= -1 if zone[0] == "-" else 1
    try:
        moment = datetime.datetime(*map(int, match.groups()[:6]))
        moment -= datetime.timedelta(minutes=minutes)
    except (ValueError, OverflowError):
        return value
    return moment.isoformat(" ") + (match.group(7) or "").rstrip("0").rstrip(".")


def canonical(kind, value):
    """Equal for two spellings of a value that readers of records take for the same."""
    if value is None:
        return None
    try:
        if kind in INTEGERS or kind.startswith("numeric"):
            number = Decimal(value)
            return number.normalize() if number.is_finite() else str(number)
        if kind in ("real", "double precision"):
            return repr(float(value))
    except (InvalidOperation, ValueError):
        return "?" + value
    if kind == "boolean":
        return {"t": "true", "f": "false"}.get(value, value)
    if kind.startswith("timestamp") and kind.endswith("with time zone"):
        return utc(value)
    if kind.startswith("timestamp"):
        return value.replace("T", " ")
    if kind.startswith("json"):
        try:
            return json.dumps(json.loads(value), sort_keys=True)
        except ValueError:
            return value
    return value


def as_readers_compare(kind):
    if kind in INTEGERS or kind.startswith("numeric"):
        return "numeric"
    if kind in ("real", "double precision"):
        return "double precision"
    return re.sub(r"\(\d+\)", "", kind) if re.sub(r"\(\d+\)", "", kind) in ORDERED else "text"


def row_name(name, table, row):
    return name + "/" + ",".join(encode(row.get(k) or "") for k in table.key)


class Judge:
    def __init__(self, side):
        self.side, self.conditions, self.large, self.unread = side, 0, {}, 0

    # ---- one operation

    def operation(self, op, state):
        """None: true; else what is untrue."""
        kind = op["t"]
        if kind == "r":
            return self.read(op, state)
        if kind == "q":
            return self.query(op, state)
        return None

    def read(self, op, state):
        name, _, key = op["row"].rpartition("/")
        table = state.table(name)
        if table is None:
            return self.missing(name)
        if not table.key:
            return "a table without a key: %s" % name
        row = table.rows.get(key)
        if "v" in op:
            return None if row is None else "absent, and there: %s" % op["row"]
        if row is None:
            return "read, and absent: %s" % op["row"]
        return self.cells(table, row[2], op.get("cells", {}), op["row"])

    def missing(self, name):
        """A table that no state has: there is none, or it is too large to be read again each time."""
        if name not in self.large:
            self.large[name] = bool(self.side.ask_with(
                "SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = $1 AND relname = $2 "
                "AND pg_relation_size(c.oid) > 65536", [decode(part) for part in name.split(".", 1)]))
        self.unread += self.large[name]
        return None if self.large[name] else "no such table: %s" % name

    @staticmethod
    def cells(table, row, cells, what):
        for column, value in cells.items():
            kind = table.types.get(column)
            if kind is None:
                return "no such column: %s#%s" % (what, column)
            if value != row[column] and canonical(kind, value) != canonical(kind, row[column]):
                return "cell %s#%s said %r is %r" % (what, column, value, row[column])
        return None

    def query(self, op, state):
        name = op["table"].replace("#", "%23")  # where no row follows it
        table = state.table(name)
        if table is None:
            return self.missing(name)
        first = None
        for exact in (True, False):
            keys, why = self.matching(table, op, exact)
            if keys is None:
                return why
            if keys == first:
                break
            bad = self.rows(op, table, keys)
            if bad:
                return bad + ("" if exact else " (as readers of records compare)")
            first = keys
        return None

    def rows(self, op, table, keys):
        if "agg" in op:
            return self.aggregates(table, [table.rows[k][2] for k in keys], op["agg"])
        if "columns" in op:
            return self.bag(op, table, keys)
        said, among = op.get("rows", {}), set(keys)
        for key, cells in said.items():
            if key not in table.rows:
                return "a row of a set is absent: %s/%s" % (table.name, key)
            if key not in among:
                return "a row of a set does not match: %s/%s" % (table.name, key)
            bad = self.cells(table, table.rows[key][2], cells, table.name + "/" + key)
            if bad:
                return bad
        missing = [k for k in keys if k not in said]
        if missing and not op.get("partial"):
            return "a set lacks rows: %s" % missing[:4]
        return None

    @staticmethod
    def bag(op, table, keys):
        kinds = [table.types.get(c) for c in op["columns"]]
        if None in kinds:
            return "no such column among %s" % op["columns"]

        def whole(values):
            return repr([canonical(kind, v) for kind, v in zip(kinds, values)])
        have = sorted(whole([table.rows[k][2][c] for c in op["columns"]]) for k in keys)
        said = sorted(whole(values) for values in op.get("bag", []))
        if not op.get("partial"):
            if have != said:
                return "rows without keys said %s are %s" % (said[:4], have[:4])
            return None
        for one in said:
            if one not in have:
                return "rows without keys: one too much: %s" % one
            have.remove(one)
        return None

    @staticmethod
    def aggregates(table, rows, said):
        for name, value in said.items():
            match = re.fullmatch(r"(\w+)(?:\((.*)\))?", name, re.S)
            function, column = match.groups()
            values = rows
            if column and column[0] == '"':
                column = column[1:-1].replace('""', '"')
            if column is not None:
                if column not in table.types:
                    return "no such column: %s" % name
                values = [r[column] for r in rows if r[column] is not None]
            if function == "count":
                right, kind = str(len(values)), "integer"
            else:
                kind = table.types[column]
                ordered = [(Decimal(v).is_nan(), Decimal(v), v) for v in values]
                if function == "sum":
                    right = str(sum(Decimal(v) for v in values)) if values else None
                    kind = "numeric"
                else:
                    right = {"min": min, "max": max}[function](ordered)[2] if ordered else None
            if canonical(kind, value) != canonical(kind, right):
                return "aggregate %s said %s is %s" % (name, value, right)
        return None

    def matching(self, table, op, exact):
        """The keys of the rows within the bounds that meet the condition; None, and why nobody can say."""
        kinds = [table.types[k] for k in table.key]

        def parts(text):
            return [ordered(kind, decode(p)) for kind, p in zip(kinds, text.split(","))]

        def ordered(kind, part):
            if kind in INTEGERS:
                try:
                    return (0, int(part), b"")
                except ValueError:
                    pass
            return (1, 0, part.encode())
        low, high = (parts(op[b]) if op.get(b) is not None else None for b in ("from", "to"))
        keys = list(table.rows)
        if low is not None:
            keys = [k for k in keys if parts(k)[:len(low)] >= low]
        if high is not None:
            keys = [k for k in keys if parts(k)[:len(high)] <= high]
        where = op.get("where")
        if not where or not keys:
            return keys, None
        met = self.meet(table, where, exact)
        if isinstance(met, str):
            return None, met
        return [k for k in keys if k in met], None

    def meet(self, table, where, exact):
        met = table.answers.get((where, exact))
        if met is None:
            met = table.answers[where, exact] = self.ask(table, where, exact)
        return met

    def ask(self, table, where, exact):
        self.conditions += 1
        columns = ['"%s" %s' % (c.replace('"', '""'), kind if exact else as_readers_compare(kind))
                   for c, kind in table.types.items()]
        rows = json.dumps([{**one[2], "reread key": key} for key, one in table.rows.items()])
        sql = 'SELECT "reread key" FROM json_to_recordset($1) AS t(%s, "reread key" text) WHERE %s' % (
            ", ".join(columns), where)
        try:
            return {r[0] for r in self.side.ask_with(sql, (rows,))}
        except wire.Failed as e:
            if exact:
                return "the server does not take the condition: %s" % e
            return self.meet(table, where, True)

    # ---- one record

    def record(self, record, t, changes):
        """[(what is untrue, operation, batch)]"""
        if t.unseen:  # the server could not say what there was
            return []
        untrue = list(self.reads(record, t))
        if record.get("snapshot") and t.snapshots and record["snapshot"] not in t.snapshots:
            untrue.append(("snapshot said %s is %s" % (record["snapshot"], t.snapshots[-1]),
                           {"t": "snapshot"}, None))
        if record["status"] == "committed" and t.explicit:
            bad = self.writes(record, t, changes)
            if bad:
                untrue.append((bad, {"t": "w"}, None))
        return untrue

    def reads(self, record, t):
        """Each operation belongs to a batch that is not before the last one's."""
        batches, at = [b for b in t.batches if b.after], 0
        for op in record["ops"]:
            if op["t"] not in "rqwd":
                continue
            first = None
            for i in range(at, len(batches)):
                bad = self.in_batch(op, batches[i], t)
                if bad is None:
                    at = i
                    break
                first = first or (bad, op, batches[i])
            else:
                if first:
                    yield first
                elif not any(b.errors and len(b.texts) > 1 for b in t.batches):
                    yield ("nothing was read", op, None)

    def in_batch(self, op, batch, t):
        if op["t"] in "wd" and not batch.errors and len(batch.texts) == 1:
            return self.made(op, batch, t)
        if batch.errors and (len(batch.texts) > 1 or op["t"] in "wd"):
            return None  # what ran before the statement that failed, nobody saw
        bad = self.operation(op, batch.after)
        if bad and batch.before and (len(batch.texts) > 1 or not t.explicit):
            return self.operation(op, batch.before) and bad
        return bad

    @staticmethod
    def made(op, batch, t):
        """A row that the record says was written, against its version."""
        name, _, key = (op.get("row") or op["k"]).rpartition("/")
        table = batch.after and batch.after.table(name)
        if table is None:
            return "a write to no table: %s" % name
        row = table.rows.get(key)
        if op["t"] == "d":
            return None if row is None else "deleted, and there: %s/%s" % (name, key)
        if row is None:
            return "written, and absent: %s/%s" % (name, key)
        before = batch.before and batch.before.table(name)
        was = before and before.rows.get(key)
        if t.xid is None or row[1] < int(t.xid) % 2**32 or (was and was[0] == row[0]):
            return "written, and as before: %s/%s" % (name, key)
        return None

    def writes(self, record, t, changes):
        real = changes.get(t.xid, []) if t.xid else []
        xid = record.get("xid")
        if real and not xid:
            return "%d changes, and the record says that nothing was written" % len(real) if record["ops"] else None
        if xid and t.xid and xid != t.xid:
            return "xid said %s is %s" % (xid, t.xid)
        state = next((b.after for b in reversed(t.batches) if b.after), None)
        if not state:
            return None
        made = []
        for kind, name, old, new in real:
            table = state.table(name)
            if table is None or not table.key:
                continue
            old, new = (one and row_name(name, table, one) for one in (old, new))
            if kind == "D" or (kind == "U" and old and old != new):
                made.append(("d", old))
            if kind != "D":
                made.append(("w", new))
        listed = [(op["t"], op.get("row") or op["k"]) for op in record["ops"] if op["t"] in "wd"]
        if record.get("writes") == "cdc":
            wrong = [one for one in listed if one not in made]
            return "said %s, made %s" % (wrong[:2], made[:4]) if wrong else None

        def by_row(all_):
            rows = {}
            for op, row in all_:
                rows.setdefault(row, []).append(op)
            return rows
        if by_row(listed) != by_row(made):
            return "said %s, made %s" % (listed[:4], made[:4])
        return None
