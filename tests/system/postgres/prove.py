#!/usr/bin/env python3
"""Random programs of SQL on a real PostgreSQL: every outcome of every run is one that `isochron prove` says is possible.

    prove.py --isochron PROGRAM --server CONNECTION [--programs N] [--runs N] [--seed S]

A program is some functions over three tables, called by two or three sessions at once, with pauses between their statements; what
fails for serialization or a deadlock is retried. The tables at the end are then a condition C, and `prove` is asked whether
`assert NOT (C)` holds: it must be violated. Prints TAP, one test for each level.
"""
import argparse
import random
import subprocess
import sys
import tempfile
import os

LEVELS = {"rc": "READ COMMITTED", "si": "REPEATABLE READ", "ser": "SERIALIZABLE"}
SCHEMA = """CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL CHECK (a >= 0), b int);
CREATE TABLE u (k int UNIQUE, w int NOT NULL);
CREATE TABLE log (id serial PRIMARY KEY, n int);
"""
ROWS = """INSERT INTO t VALUES (1, 1, NULL), (2, 2, 0), (3, 0, 1);
INSERT INTO u VALUES (5, 0);
"""
TABLES = {"t": ["id", "a", "b"], "u": ["k", "w"], "log": ["n"]}


class Maker:
    """Random statements."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.hot = self.random.random() < 0.7

    def pick(self, *choices):
        return self.random.choice(choices)

    def number(self):
        return self.pick("x", "v", "v + 1", "x + v") if self.hot else self.pick("x", "v", "0", "1", "2", "x + 1")

    def where(self):
        if self.hot:  # few rows, so that sessions meet
            return self.pick("id = 1", "id <> 2", "a > 1", "id = 1 AND a < 4", "a <> x", "b IS NULL")
        return self.pick("id = %d" % self.random.randint(1, 3), "id = x", "a > 1", "b IS NULL", "a = %s" % self.number(),
                         "id <> 2", "b = 0 OR a >= 2", "NOT (b = 1)", "a BETWEEN 1 AND 2",
                         "EXISTS (SELECT 1 FROM u WHERE u.w = t.a)", "a >= (SELECT count(*) FROM log)")

    def statement(self, depth=0):
        if self.hot and self.random.random() < 0.5:
            return self.pick("SELECT a INTO v FROM t WHERE id = 1%s;" % self.pick("", " FOR UPDATE"),
                             "UPDATE t SET a = %s WHERE %s;" % (self.number(), self.where()),
                             "UPDATE t SET a = a + x WHERE %s;" % self.where(),
                             "SELECT sum(a) INTO v FROM t WHERE %s;" % self.where(),
                             "INSERT INTO log (n) VALUES (v);", "SELECT count(*) INTO v FROM log;",
                             "UPDATE t SET b = v WHERE %s;" % self.where())
        kind = self.random.randrange(13 if depth < 2 else 10)
        if kind == 0:
            return "SELECT a INTO v FROM t WHERE id = %s%s;" % (self.pick("1", "2", "x"), self.pick("", " FOR UPDATE"))
        if kind == 1:
            return "SELECT %s INTO v FROM t WHERE %s;" % (
                self.pick("sum(a)", "count(*)", "max(a)", "min(b)", "coalesce(sum(b), 0)"), self.where())
        if kind == 2:
            return "UPDATE t SET a = %s WHERE %s;" % (self.pick("a + 1", "a - 1", "coalesce(v, 0)", "x"), self.where())
        if kind == 3:
            return "UPDATE t SET b = %s WHERE %s;" % (self.pick("v", "a", "b + 1", "(SELECT count(*) FROM u)"), self.where())
        if kind == 4:
            return "INSERT INTO u VALUES (%s, %s)%s;" % (self.pick("x", "5", "6", "NULL"), self.pick("0", "1", "x"),
                                                       self.pick("", " ON CONFLICT DO NOTHING", " ON CONFLICT (k) DO NOTHING"))
        if kind == 5:
            return "DELETE FROM %s;" % self.pick("u WHERE k = x", "u WHERE w = 0", "t WHERE id = x AND a = 0", "u WHERE k = 5")
        if kind == 6:
            return "INSERT INTO log (n) VALUES (%s);" % self.pick("v", "x", "1")
        if kind == 7:
            return self.pick("PERFORM 1 FROM t WHERE %s FOR UPDATE;", "UPDATE t SET id = id WHERE %s;") % self.where()
        if kind == 8:
            return "UPDATE u SET %s;" % self.pick("k = 6 WHERE k = 5", "w = w + 1 WHERE k = 5", "w = 1", "k = NULL WHERE k = 5", "k = k WHERE w = 0")
        if kind == 9:
            return self.pick("GET DIAGNOSTICS v = ROW_COUNT;", "v := %s;" % self.number(),
                             "SELECT count(*) INTO v FROM log;", "SELECT w INTO v FROM u WHERE k = 5 FOR UPDATE;")
        if kind == 10:
            return "IF %s THEN\n  %s\nELSE\n  %s\nEND IF;" % (
                self.pick("FOUND", "v > 0", "v IS NULL", "EXISTS (SELECT 1 FROM u WHERE k = x)", "(SELECT count(*) FROM log) = 0"),
                self.statement(depth + 1), self.pick("NULL;", self.statement(depth + 1)))
        if kind == 11:
            return "IF %s THEN RAISE EXCEPTION 'no'; END IF;" % self.pick("v > 1", "NOT FOUND", "v IS NULL")
        return "FOR i IN 1..2 LOOP\n  %s\nEND LOOP;" % self.statement(depth + 1)

    def program(self):
        names = ["f", "g"][:self.random.randint(1, 2)]
        functions = {name: [self.statement() for _ in range(self.random.randint(2, 4))] for name in names}
        for statements in functions.values():  # what was read is seen at the end
            statements.append("INSERT INTO log (n) VALUES (v);")
        calls = [(self.pick(*names), self.pick(1, 2, 5)) for _ in range(self.random.randint(2, 3))]
        return functions, calls


def create(functions, pauses):
    text = ""
    for name, statements in functions.items():
        if pauses:  # before each statement that begins a line; an assignment leaves FOUND alone
            lines = "\n".join(statements).split("\n")
            words = ("SELECT", "UPDATE", "INSERT", "DELETE", "PERFORM", "IF", "FOR")
            lines = ["pause := pause(); " * (line.strip().split(" ")[0] in words) + line for line in lines]
            statements = lines
        text += "CREATE FUNCTION %s(x int) RETURNS void LANGUAGE plpgsql AS $$ DECLARE v int := 1; %sBEGIN\n%s\nEND $$;\n" % (
            name, "pause int; " * pauses, "\n".join(statements))
    return text


class Session:
    """A psql that is told one transaction after another."""

    def __init__(self, server):
        self.process = subprocess.Popen(["psql", server, "-X", "-q", "-A", "-t"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1)
        self.say("\\set VERBOSITY sqlstate\nSET client_min_messages = error;\nSET deadlock_timeout = '20ms';\nSET search_path = proved;")

    def say(self, text):
        self.process.stdin.write(text + "\n\\echo ~\n")
        self.process.stdin.flush()

    def hear(self):
        lines = []
        for line in self.process.stdout:
            if line == "~\n":
                return lines
            lines.append(line.rstrip("\n"))
        raise SystemExit("a session ended: %s" % lines)

    def ask(self, text):
        self.say(text)
        return self.hear()


def run_once(sessions, calls, level):
    begin = "BEGIN ISOLATION LEVEL %s;" % LEVELS[level]
    waiting = []
    for session, (name, argument) in zip(sessions, calls):
        text = "%s\nSELECT %s(%d);\nCOMMIT;" % (begin, name, argument)
        session.say(text)
        waiting.append((session, text, 0))
    while waiting:
        session, text, tries = waiting.pop(0)
        errors = [line for line in session.hear() if "ERROR" in line]
        states = " ".join(errors)
        # A duplicate of a row that the snapshot does not have is told as such, and not as a failed serialization.
        retry = "40001" in states or "40P01" in states or (level != "rc" and "23505" in states and tries < 1)
        for error in errors:
            if not any(code in error for code in ("40001", "40P01", "23505", "23514", "23502", "22003", "P0001")):
                raise SystemExit("unexpected: %s" % error)
        if retry and tries < 50:
            session.say(text)
            waiting.append((session, text, tries + 1))


def outcome_of(session):
    """The tables as a condition."""
    parts = []
    for table, columns in TABLES.items():
        rows = sorted(session.ask("SELECT %s FROM %s;" % (" || ',' || ".join("coalesce(%s::text, 'NULL')" % c for c in columns), table)))
        parts.append("(SELECT count(*) FROM %s) = %d" % (table, len(rows)))
        for row in sorted(set(rows)):
            same = " AND ".join("%s IS NOT DISTINCT FROM %s" % pair for pair in zip(columns, row.split(",")))
            parts.append("(SELECT count(*) FROM %s WHERE %s) = %d" % (table, same, rows.count(row)))
    return " AND ".join(parts)


def predicted(isochron, folder, functions, calls, level, outcome):
    path = os.path.join(folder, "program.sql")
    with open(path, "w") as file:
        file.write(SCHEMA + ROWS + create(functions, False) + "--@ run %s\n--@ assert outcome: NOT (%s)\n" % (
            ", ".join("%s(%d)" % call for call in calls), outcome))
    answer = subprocess.run([isochron, "prove", "--level", level, path], capture_output=True, text=True)
    return answer.returncode, answer.stdout + answer.stderr, path


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--isochron", required=True)
    options.add_argument("--server", required=True)
    options.add_argument("--programs", type=int, default=8)
    options.add_argument("--runs", type=int, default=8)
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()
    sessions = [Session(options.server) for _ in range(3)]
    for session in sessions:
        session.hear()
    judge = sessions[0]
    counts = {level: [0, 0, 0] for level in LEVELS}  # runs, outcomes, wrong
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.programs):
            functions, calls = Maker(options.seed * 1000003 + number).program()
            code, said, _ = predicted(options.isochron, folder, functions, calls, "ser", "true")
            if code not in (0, 1):
                print("# program %d is refused: %s" % (number, said.strip().split("\n")[-1]))
                refused += 1
                continue
            setup = ["DROP SCHEMA IF EXISTS proved CASCADE; CREATE SCHEMA proved;", SCHEMA,
                     "CREATE FUNCTION pause() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(random() * 0.01); RETURN 0; END $$;",
                     create(functions, True)]
            errors = [line for line in judge.ask("\n".join(setup)) if "ERROR" in line]
            if errors:
                raise SystemExit("PostgreSQL refuses program %d: %s\n%s" % (number, errors, create(functions, False)))
            for level in LEVELS:
                seen = {}
                for _ in range(options.runs):
                    judge.ask("TRUNCATE t, u, log;\n" + ROWS)
                    run_once(sessions, calls, level)
                    outcome = outcome_of(judge)
                    counts[level][0] += 1
                    if outcome in seen:
                        continue
                    seen[outcome] = True
                    counts[level][1] += 1
                    code, said, path = predicted(options.isochron, folder, functions, calls, level, outcome)
                    if code == 3 and "frees" in said:  # it says that it does not know
                        counts[level][1] -= 1
                    elif code != 1:
                        counts[level][2] += 1
                        print("# program %d (--seed %d) at %s has an outcome that is not predicted: exit status %d" % (
                            number, options.seed, level, code))
                        print("".join("# %s\n" % line for line in open(path).read().split("\n")))
            if (number + 1) % 25 == 0:  # for who waits: an hour for 500
                print("# %d programs: %s" % (number + 1, ", ".join("%s %d runs, %d outcomes, %d wrong" % (level, *counts[level]) for level in LEVELS)),
                      flush=True)
    print("# %d programs, %d refused" % (options.programs, refused))
    for index, (level, (runs, outcomes, wrong)) in enumerate(counts.items()):
        print("%sok %d - %s: %d runs, %d outcomes, each predicted" % ("not " * (wrong > 0 or not outcomes), index + 1, LEVELS[level], runs, outcomes))
    if refused > options.programs // 4:
        raise SystemExit("too many programs are refused")


main()
