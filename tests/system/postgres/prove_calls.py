#!/usr/bin/env python3
"""Random single calls on a real PostgreSQL and in the model of `isochron prove`: the same end, or both fail.

    prove_calls.py --isochron PROGRAM --server CONNECTION [--calls N] [--seed S] [--show]

A call is one of a function of random statements over five tables, with NULLs, constraints and errors. What PostgreSQL ends with is
`assert`ed of the program, and a call that fails leaves what was there. Prints TAP. `--show`: the program of the seed.
"""
import argparse
import collections
import os
import random
import re
import subprocess
import sys
import tempfile

SCHEMA = """CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL CHECK (a >= -5), b int, s varchar(2));
CREATE TABLE u (k int UNIQUE, w bigint NOT NULL DEFAULT 7, f boolean);
CREATE TABLE c (id int PRIMARY KEY, t int REFERENCES p, h char(3) DEFAULT 'n', CHECK (t <> 9 OR h IS NULL));
CREATE TABLE log (id serial PRIMARY KEY, n bigint, q text, g boolean);
CREATE TABLE done (k int PRIMARY KEY, v int);
"""
PARENT = "CREATE TABLE p (id int PRIMARY KEY);\n"
TABLES = {"t": ["id", "a", "b", "s"], "u": ["k", "w", "f"], "c": ["id", "t", "h"], "log": ["n", "q", "g"], "done": ["k", "v"]}
COLUMNS = {"t": {"id": "int", "a": "int", "b": "int", "s": "text"}, "u": {"k": "int", "w": "bigint", "f": "bool"},
           "c": {"id": "int", "t": "int", "h": "text"}, "log": {"n": "bigint", "q": "text", "g": "bool"}}
KEYS = {"t": "id", "u": "k", "c": "id"}
VARIABLES = {"x": "int", "y": "int", "z": "bigint", "q1": "text", "q2": "varchar(2)", "r": "bool", "m": "int"}
KINDS = dict(VARIABLES, q2="text", m="int")  # m is NOT NULL
LEAF = 3
DECLARED = "DECLARE y int; z bigint := 0; q1 text; q2 varchar(2) := 'a'; r boolean; m int NOT NULL := 1;"
TEXTS = ["'a'", "'b'", "'ab'", "'abc'", "''"]


class Maker:
    """A random program."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.callees = []  # functions that may be called here: their names, and whether they return a number
        self.result = None  # of the function that is written

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, part):
        return self.random.random() < part

    # ---- expressions: `row` is a table whose columns can be named, `alias` its name

    def names(self, kind, row):
        names = [name for name, its in KINDS.items() if its == kind or (kind == "bigint" and its == "int")]
        if row:
            table, alias = row
            mine = ["%s.%s" % (alias, name) for name, its in COLUMNS[table].items() if its == kind or (kind == "bigint" and its == "int")]
            names = names[:1] * (not mine) + mine * 3 + names
        return names

    def any(self, *makers):
        return self.random.choice(makers)()

    def number(self, row=None, depth=0, kind="int"):
        if depth >= LEAF or self.chance(0.45):
            return self.pick(self.pick(*self.names(kind, row)), self.pick("0", "1", "2", "3", "5", "-1"),
                             self.pick("NULL::int", "2147483647", "7") if self.chance(0.3) else "4")
        one, other = self.number(row, depth + 1, kind), self.number(row, depth + 1, kind)
        return self.any(
            lambda: self.pick("(%s + %s)", "(%s - %s)", "(%s * %s)", "coalesce(%s, %s)", "greatest(%s, %s)", "least(%s, %s)") % (one, other),
            lambda: self.pick("-(%s)", "abs(%s)") % one,
            lambda: "(CASE WHEN %s THEN %s ELSE %s END)" % (self.condition(row, depth + 1), one, other),
            lambda: "(CASE WHEN %s THEN %s END)" % (self.condition(row, depth + 1), one),
            lambda: "(CASE %s WHEN %s THEN %s WHEN %s THEN 1 ELSE %s END)" % (one, other, one, self.number(row, LEAF), other),
            lambda: self.query(kind, row, depth + 1))

    def text(self, row=None, depth=0):
        if depth >= LEAF - 1 or self.chance(0.6):
            return self.pick(self.pick(*TEXTS), self.pick(*self.names("text", row)), "NULL::text" if self.chance(0.3) else "'a'")
        return self.any(lambda: "coalesce(%s, %s)" % (self.text(row, depth + 1), self.text(row, depth + 1)),
                        lambda: "(CASE WHEN %s THEN %s ELSE %s END)" % (self.condition(row, depth + 1), self.text(row, depth + 1), self.text(row, depth + 1)))

    def condition(self, row=None, depth=0):
        no = self.pick("", "NOT ")
        if depth >= LEAF or self.chance(0.3):
            return self.any(lambda: "%s %s %s" % (self.number(row, LEAF), self.pick("=", "<>", "<", "<=", ">", ">="), self.number(row, LEAF)),
                            lambda: self.pick(*self.names("bool", row)), lambda: "%s IS NULL" % self.number(row, LEAF),
                            lambda: "%s = %s" % (self.text(row, LEAF), self.text(row, LEAF)))
        one, number = self.condition(row, depth + 1), self.number(row, depth + 1)
        return self.any(
            lambda: "(%s %s %s)" % (one, self.pick("AND", "OR"), self.condition(row, depth + 1)), lambda: "NOT (%s)" % one,
            lambda: "(%s) IS %s%s" % (one, no, self.pick("TRUE", "FALSE", "UNKNOWN")),
            lambda: "(%s) IS %sNULL" % (self.pick(one, number), no), lambda: "(%s) = (%s)" % (one, self.condition(row, depth + 1)),
            lambda: "(%s) IS %sDISTINCT FROM (%s)" % (number, no, self.number(row, depth + 1)),
            lambda: "(%s) %sIN (%s, %s)" % (number, no, self.number(row, LEAF), self.number(row, LEAF)),
            lambda: "(%s) %sIN (SELECT %s)" % (number, no, self.pick("b FROM t", "k FROM u", "j.a FROM t j WHERE j.a > 1", "c.t FROM c")),
            lambda: "(%s) %sBETWEEN %s AND %s" % (number, no, self.number(row, LEAF), self.number(row, LEAF)),
            lambda: "%sEXISTS (SELECT %s FROM %s)" % (no, self.pick("1", "NULL"), self.source("e%d" % depth)),
            lambda: "%s %s %s" % (number, self.pick("=", "<>", "<", ">="), self.number(row, depth + 1)),
            lambda: "%s <> %s" % (self.text(row, 1), self.text(row, 1)))

    def source(self, alias, outer=None):
        table = self.pick("t", "u", "c", "log")
        return "%s %s WHERE %s" % (table, alias, self.condition((table, alias), LEAF))

    def query(self, kind, row, depth):
        """A sub-select as a number."""
        table = self.pick("t", "u", "c")
        alias = "j%d" % depth
        columns = ["%s.%s" % (alias, name) for name, its in COLUMNS[table].items() if its == "int"]
        inner = (table, alias)
        where = self.condition(inner, LEAF)
        if row and self.chance(0.4):
            where += " AND %s.%s = %s" % (alias, KEYS[table], self.number(row, LEAF))
        if self.chance(0.4):
            return "(SELECT %s FROM %s %s WHERE %s.%s = %s)" % (self.pick(*columns), table, alias, alias, KEYS[table], self.number(row, LEAF))
        what = self.pick("count(*)", "count(%s)" % self.pick(*columns), "max(%s)" % self.pick(*columns), "min(%s)" % self.pick(*columns),
                         "sum(%s)" % self.number(inner, LEAF), "coalesce(sum(%s), 0)" % self.pick(*columns))
        value = "(SELECT %s FROM %s %s WHERE %s)" % (what, table, alias, where)
        return value if kind == "bigint" else "%s::int" % value

    def value(self, kind, row=None):
        if kind == "bool":
            return self.pick("NULL", self.condition(row, 1), self.condition(row, LEAF))
        if kind == "text":
            return self.text(row)
        return self.number(row, 0, kind)

    # ---- statements

    def statements(self, depth=0):
        return "\n".join(self.statement(depth) for _ in range(self.random.randint(1, 3 if depth else 4)))

    def into(self, kinds):
        """Variables that take values of these kinds."""
        names = []
        for kind in kinds:
            fits = [name for name, its in KINDS.items() if its == kind or (kind == "int" and its == "bigint") or (kind == "bigint" and its == "int")]
            names.append(self.pick(*fits))
        return ", ".join(names)

    def insert(self):
        table = self.pick("t", "u", "c", "log")
        columns = list(COLUMNS[table])
        if self.chance(0.5) or table == "log":
            columns = [name for name in columns if name in ("id", "k") or self.chance(0.7)] or columns[:1]
        row = lambda: "(%s)" % ", ".join("DEFAULT" if self.chance(0.07) else
                                         self.pick("1", "2", "3", "4", "x", "NULL" if table == "u" else "5")
                                         if KEYS.get(table) == name and self.chance(0.85) else self.value(COLUMNS[table][name]) for name in columns)
        rows = [row()] + [row()] * self.chance(0.1)
        if len(rows) > 1:
            rows[1] = row()
        text = "INSERT INTO %s (%s) VALUES %s" % (table, ", ".join(columns), ", ".join(rows))
        if table != "log" and self.chance(0.4):
            text += " ON CONFLICT%s DO NOTHING" % self.pick("", " (%s)" % KEYS[table])
        if len(rows) == 1 and self.chance(0.4):
            text += self.returning(table, table)
        return text + ";"

    def returning(self, table, alias):
        names = [self.pick(*COLUMNS[table]) for _ in range(self.random.randint(1, LEAF))]
        names = [name for name in names if (table, name) != ("log", "id")]
        kinds = [COLUMNS[table][name] for name in names]
        values = ["%s.%s" % (alias, name) if kind in ("text", "bool") or self.chance(0.6) else self.number((table, alias), 1)
                  for name, kind in zip(names, kinds)]
        return " RETURNING %s INTO %s" % (", ".join(values), self.into(kinds))

    def one_row(self, table, alias):
        return "%s.%s = %s" % (alias, KEYS[table], self.pick("1", "2", "3", "x", "y", self.number(None, 1)))

    def update(self):
        table = self.pick("t", "t", "u", "c", "log")
        row = (table, table)
        names = [name for name in COLUMNS[table] if name != KEYS.get(table) and self.chance(0.5)] or [list(COLUMNS[table])[1]]
        one = table in KEYS and self.chance(0.5)
        if one and self.chance(0.3):
            names.append(KEYS[table])
        sets = ", ".join("%s = %s" % (name, "%s.%s" % (table, name) if self.chance(0.1) else self.value(COLUMNS[table][name], row)) for name in names)
        where = self.one_row(table, table) if one else self.condition(row)
        text = "UPDATE %s SET %s WHERE %s" % (table, sets, where)
        if one and self.chance(0.4):
            text += self.returning(table, table)
        return text + ";"

    def delete(self):
        table = self.pick("t", "u", "c", "log")
        one = table in KEYS and self.chance(0.6)
        text = "DELETE FROM %s WHERE %s" % (table, self.one_row(table, table) if one else self.condition((table, table)))
        return text + (self.returning(table, table) if one and self.chance(0.4) else "") + ";"

    def select(self):
        table = self.pick("t", "u", "c")
        row = (table, "s1")
        strict = self.pick("", "", "", "STRICT ")
        if self.chance(0.5):
            names = [self.pick(*COLUMNS[table]) for _ in range(self.random.randint(1, LEAF))]
            kinds = [COLUMNS[table][name] for name in names]
            values = ["s1.%s" % name if kind in ("text", "bool") or self.chance(0.6) else self.number(row, 1) for name, kind in zip(names, kinds)]
            where = self.one_row(table, "s1") + (" AND %s" % self.condition(row, LEAF)) * self.chance(0.4)
            return "SELECT %s INTO %s%s FROM %s s1 WHERE %s%s;" % (
                ", ".join(values), strict, self.into(kinds), table, where, self.pick("", "", " FOR UPDATE"))
        what = self.pick("count(*)", "sum(s1.%s)" % self.pick(*[n for n, k in COLUMNS[table].items() if k == "int"]),
                         "max(%s)" % self.number(row, 1), "count(*) + coalesce(min(%s), 3)" % self.number(row, 1))
        if self.chance(0.3):
            return "SELECT %s INTO %s FROM t s1 JOIN u s2 ON s1.id = s2.k WHERE %s;" % (
                self.pick("count(*)", "sum(s2.w)", "max(s1.b)"), self.into(["bigint"]), self.condition(("t", "s1"), 1))
        return "SELECT %s INTO %s%s FROM %s s1 WHERE %s;" % (what, strict, self.into(["bigint"]), table, self.condition(row, 1))

    def perform(self):
        table = self.pick("t", "u", "c", "log")
        row = (table, "s1")
        return self.pick("PERFORM %s FROM %s s1 WHERE %s%s;" % (self.number(row, 1), table, self.condition(row), self.pick("", " FOR UPDATE")),
                         "PERFORM %s;" % self.number(None, 0), "PERFORM count(*) FROM %s s1 WHERE %s;" % (table, self.condition(row)))

    def assignment(self):
        name = self.pick(*VARIABLES)
        if self.callees and self.chance(0.3):
            return self.call()
        return "%s := %s;" % (name, self.value(KINDS[name]))

    def call(self):
        name, gives = self.pick(*self.callees)
        call = "%s(%s, %s)" % (name, self.number(None, 1), self.text())
        if not gives:
            return "PERFORM %s;" % call
        return self.pick("PERFORM %s;" % call, "y := %s;" % call, "m := coalesce(y, 0) + %s;" % call, "SELECT %s, x INTO x, y;" % call,
                         "IF %s > %s THEN\n%s\nEND IF;" % (call, self.number(None, LEAF), self.statements(2)),
                         "INSERT INTO log (n) VALUES (%s);" % call, "RAISE NOTICE '%%', %s;" % call,
                         "FOR i9 IN 1..least(%s, 2) LOOP\n%s\nEND LOOP;" % (call, self.statements(2)))

    def tail(self, depth):
        return self.pick("", "ELSE\n%s\n" % self.statements(depth + 1),
                         "ELSIF %s THEN\n%s\n" % (self.condition(), self.statements(depth + 1)))

    def statement(self, depth=0):
        kind = self.random.randrange(17 if depth < 2 else 11)
        if kind <= 1:
            return self.insert()
        if kind <= 3:
            return self.update()
        if kind == 4:
            return self.delete()
        if kind <= 6:
            return self.select()
        if kind == 7:
            return self.perform()
        if kind <= 9:
            return self.assignment()
        if kind == 10:
            return self.pick("GET DIAGNOSTICS z = ROW_COUNT;", "r := FOUND;", "RAISE NOTICE '%%', %s;" % self.number(), "NULL;", "INSERT INTO log (n, q, g) VALUES (z, q1, r);",
                             "PERFORM pg_advisory_xact_lock(%s);" % self.pick("1", "x", "NULL::int"))
        if kind <= 13:
            return "IF %s THEN\n%s\n%sEND IF;" % (self.pick("FOUND", "NOT FOUND", self.condition(), self.condition()),
                                                 self.statements(depth + 1), self.tail(depth))
        if kind == 14:
            name = "i%d" % depth
            return "FOR %s IN %s%s..%s LOOP\nz := %s;\n%s\nEND LOOP;" % (
                name, self.pick("", "REVERSE "), *self.pick(("1", "2"), ("2", "0"), ("1", "least(greatest(x, 0), 3)"), ("3", "1")),
                name, self.statements(depth + 1))
        if kind == 15:
            return self.pick("CASE WHEN %s THEN\n%s\n%sEND CASE;" % (self.condition(), self.statements(depth + 1), self.pick("", "ELSE NULL;\n")),
                             "CASE %s WHEN 1, 2 THEN\n%s\nWHEN %s THEN NULL;\n%sEND CASE;" % (
                                 self.number(), self.statements(depth + 1), self.number(), self.pick("", "ELSE NULL;\n")))
        return self.pick("IF %s THEN RAISE EXCEPTION 'no'; END IF;" % self.condition(), "IF %s THEN RETURN%s; END IF;" % (self.condition(), self.value_returned()),
                         "DECLARE y int := %s; BEGIN\n%s\nEND;" % (self.number(), self.statements(depth + 1)))

    def value_returned(self):
        return "" if self.result == "void" else " " + self.number()

    def function(self, name, parameters, result, *parts):
        return "CREATE FUNCTION %s(%s) RETURNS %s LANGUAGE plpgsql AS $$\n%s\nBEGIN\n%s\nEND $$;\n" % (
            name, parameters, result, DECLARED, "\n".join(parts))

    def program(self):
        rows = "INSERT INTO p VALUES (1), (2), (9);\nINSERT INTO done VALUES (1, 0);\n"
        rows += "INSERT INTO t VALUES (1, %s, %s, 'a'), (2, %s, NULL, %s), (3, 0, %s, NULL);\n" % (
            self.pick("0", "1", "10"), self.pick("NULL", "0", "5"), self.pick("2", "3"), self.pick("'ab'", "NULL", "''"), self.pick("1", "7"))
        rows += self.pick("", "INSERT INTO u VALUES (1, 1, true), (NULL, 2, NULL);\n", "INSERT INTO u (k, f) VALUES (3, false);\n")
        rows += self.pick("", "INSERT INTO c VALUES (1, 1, 'b');\n", "INSERT INTO c (id) VALUES (2), (4);\n")
        functions = ""
        for name, result in self.pick([], [("g", "int")], [("h", "void"), ("g", "int")]):
            self.result = result
            functions += self.function(name, "x int, q0 text", result, self.statements(1), "" if result == "void" else self.pick("RETURN x;", "RETURN y;", "RETURN 2;", ""))
            self.callees.append((name, result != "void"))
        self.result = "void"
        last = "INSERT INTO log (n, q, g) VALUES (%s);" % self.pick("x, q2, r", "y, q1, r", "z, q1, FOUND", "m, q2, FOUND")
        functions += self.function("f", "x int", "void", "UPDATE done SET v = 1 WHERE k = 1;\n" + self.statements(), last)
        return rows, functions, self.pick("1", "2", "3", "0", "null")


def dump():
    """A query for each table: a row as a condition."""
    for table, columns in TABLES.items():
        parts = " || ' AND ' || ".join("'%s IS NOT DISTINCT FROM ' || quote_nullable(%s%s)" % (name, name, "::text")
                                       if kind == "text" else "'%s IS NOT DISTINCT FROM ' || coalesce(%s::text, 'NULL')" % (name, name)
                                       for name, kind in ((name, COLUMNS.get(table, {}).get(name, "int")) for name in columns))
        yield "SELECT '%s|' || %s FROM %s;" % (table, parts, table)


def ends(server, programs):
    script = ["\\set VERBOSITY sqlstate", "\\set ON_ERROR_ROLLBACK on", "SET client_min_messages = error;", "SET search_path = called;"]
    for rows, function, argument in programs:
        script += ["BEGIN;", rows, function, "\\echo ~", "SELECT f(%s);" % argument, "\\echo !:SQLSTATE", *dump(), "ROLLBACK;"]
    answer = subprocess.run(["psql", server, "-X", "-q", "-A", "-t"], input="\n".join(script), stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True).stdout
    for part in answer.split("~\n")[1:]:
        lines = part.split("\n")
        marks = [line for line in lines if line.startswith("!")]
        yield (marks[0][1:] if marks else "?"), [line for line in lines if "|" in line]


def outcome(rows):
    """The tables as a condition."""
    count = collections.Counter(rows)
    parts = ["(SELECT count(*) FROM %s) = %d" % (table, sum(n for row, n in count.items() if row.startswith(table + "|"))) for table in TABLES]
    parts += ["(SELECT count(*) FROM %s WHERE %s) = %d" % (*row.split("|", 1), n) for row, n in sorted(count.items())]
    return " AND ".join(parts)


def text_of(program, rows):
    first, function, argument = program
    return PARENT + SCHEMA + first + function + "--@ run f(%s)\n--@ assert outcome: %s\n" % (argument, outcome(rows))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--isochron", required=True)
    options.add_argument("--server", required=True)
    options.add_argument("--calls", type=int, default=300)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--show", action="store_true")
    options = options.parse_args()
    subprocess.run(["psql", options.server, "-X", "-q", "-c", "SET client_min_messages = error; DROP SCHEMA IF EXISTS called CASCADE; CREATE SCHEMA called; SET search_path = called; "
                    + PARENT + SCHEMA], check=True)
    counts = collections.Counter()
    refusals = collections.Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.sql")
        for first in range(0, options.calls, 100):
            seeds = [options.seed * 10000019 + number for number in range(first, min(first + 100, options.calls))]
            programs = [Maker(seed).program() for seed in seeds]
            answers = list(ends(options.server, programs))
            if len(answers) != len(programs):
                raise SystemExit("psql told of %d calls of %d" % (len(answers), len(programs)))
            for seed, program, (state, rows) in zip(seeds, programs, answers):
                text = text_of(program, rows)
                if state not in ("00000", "22003", "22001", "23505", "23514", "23502", "23503", "21000", "P0001", "P0002", "P0003", "20000", "22004", "2F005"):
                    counts["not for PostgreSQL (%s)" % state] += 1
                    continue
                with open(path, "w") as file:
                    file.write(text)
                answer = subprocess.run([options.isochron, "prove", "--level", "ser", "--timeout", "10", path], capture_output=True, text=True)
                kind = "end alike" if state == "00000" else "fail alike"
                if answer.returncode == 2:
                    counts["refused"] += 1
                    refusals[re.sub("^.*sql:[0-9]+:[0-9]+: ", "", answer.stderr.strip())[:80]] += 1
                elif answer.returncode == 3:
                    counts["undecided"] += 1
                elif answer.returncode == 0:
                    counts[kind] += 1
                else:
                    wrong.append((seed, state))
                    if len(wrong) <= 3 or options.show:
                        print("# call %d: PostgreSQL says %s, the model ends otherwise\n%s" % (
                            seed, state, "".join("# %s\n" % line for line in (text + answer.stdout[-1500:]).split("\n"))))
    for refusal, count in refusals.most_common(8):
        print("# refused %d: %s" % (count, refusal))
    print("# %s" % ", ".join("%d %s" % (count, kind) for kind, count in sorted(counts.items())))
    fine = not wrong and counts["end alike"] > options.calls // 4 and counts["fail alike"] > options.calls // 20
    print("%sok 1 - %d calls end on PostgreSQL as in the model%s" % (
        "not " * (not fine), counts["end alike"] + counts["fail alike"], ": not %s" % wrong[:20] if wrong else ""))
    print("1..1")


main()
