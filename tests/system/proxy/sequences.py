#!/usr/bin/env python3
"""Random sequences of messages, said to PostgreSQL and, at the same time, to a copy of the database through the proxy: every message of
the server must be the same, at all levels of isolation. Between the steps of a session another one writes, so that what a transaction sees
and where it is refused (40001) shows the moment of its snapshot.

    sequences.py DIRECT-PORT PROXY-PORT --sequences N [--seconds N] [--seed S]

Databases `one` and `two`, the second a copy of the first. A sequence that differs is printed with its seed. TAP without a plan, on stdout.
"""
import argparse
import os
import random
import re
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.stdout, out = open(os.devnull, "w"), sys.stdout
import talk  # noqa: E402
from talk import FLUSH, SYNC, bind, close, describe, execute, extended, message, parse, query  # noqa: E402

SESSION, VACUUM_EACH = 16, 128  # sequences
LEVELS = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]
PLAIN = ["LOCK TABLE other IN SHARE MODE", "SET CONSTRAINTS ALL DEFERRED", "LISTEN news", "UNLISTEN *", "NOTIFY news, 'x'", "SHOW transaction_isolation",
         "SET LOCAL work_mem = '2MB'", "SET extra_float_digits = 1", "CHECKPOINT now", "SELECT 1", "SELECT", "SELECT 1 / 0", "SELEC", "SELECT nothing FROM kv", "",
         "CLOSE ALL", "DISCARD PLANS", "DEALLOCATE ALL", "EXPLAIN (COSTS OFF) SELECT * FROM kv", "VACUUM", "RESET ALL", "DO 'BEGIN NULL; END'",
         "SELECT pg_notify('news', 'y')", "CREATE TEMP TABLE IF NOT EXISTS t (a int) ON COMMIT DROP", "SELECT count(*) FROM pg_prepared_statements",
         "SELECT name FROM pg_prepared_statements ORDER BY 1", "SELECT name FROM pg_cursors ORDER BY 1", "SET TRANSACTION READ ONLY", "SET TRANSACTION READ WRITE",
         "SET TRANSACTION SNAPSHOT '00000003-0000001B-1'", "SELECT v, 1; SELECT 2", "BEGIN; SELECT * FROM kv ORDER BY k", "SELECT * FROM kv ORDER BY k; COMMIT"]


def determined(one):
    """What a message says at each run: not the numbers of processes and transactions (nor then its length); and which of two rows that others
    changed is met first hangs on where they stand in the table: two servers without a proxy differ in it, too (seed 92000277009134)."""
    if one[:1] == b"A":
        return one[:5]
    if one[:1] != b"E":
        return one
    return one[:1] + re.sub(rb"pivot \d+|(?<=due to concurrent )(update|delete)\0.*", b"", one[5:], flags=re.S)


class Side:
    """One way to the server: the session that is compared, and one beside it that is not."""

    def __init__(self, port, beside, database):
        self.port, self.beside_port, self.database = port, beside, database
        self.session = None
        self.connect_beside()

    def connect_beside(self):
        """Waits for a server that starts again."""
        self.beside = None
        while not self.beside:
            try:
                self.beside = talk.Session(self.beside_port, self.database)
                self.beside.quietly("SET lock_timeout = '3ms'")
            except OSError:
                self.beside = None

    def begin(self, seed):
        """The rows of the beginning, and a session: a new one, or the one of before, whatever it is at."""
        if seed % VACUUM_EACH == 0:  # else each query reads what all before it left behind
            self.beside.quietly("VACUUM kv, other")
        if self.session and seed % SESSION:
            self.session.quietly("ROLLBACK", "DISCARD ALL")
        else:
            self.end()
            self.session = talk.Session(self.port, self.database)
        # A session that was ended may still hold its locks.
        self.beside.quietly("SET lock_timeout = 0; DELETE FROM kv; DELETE FROM other; "
                            "INSERT INTO kv SELECT i, i FROM generate_series(1, 5) i; SET lock_timeout = '3ms'")

    def end(self):
        if self.session:
            self.session.socket.close()
        self.session = None

    def send(self, data):
        self.session.socket.sendall(data)

    def answers(self, ready):
        """Messages up to as many ReadyForQuery; None: the session ended."""
        session, found = self.session, []
        while ready:
            while len(session.held) < 5 or len(session.held) < 1 + struct.unpack_from("!i", session.held, 1)[0]:
                try:
                    more = session.socket.recv(1 << 16)
                except ConnectionResetError:
                    more = b""
                if not more:
                    return found + [None]
                session.held += more
            length = 1 + struct.unpack_from("!i", session.held, 1)[0]
            one, session.held = session.held[:length], session.held[length:]
            ready -= one[:1] == b"Z"
            found.append(determined(one))
        return found


class Sequence:
    """Draws one step after the other."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = ["", "a", "b"]
        self.is_first = self.random.random() < 0.8
        self.has_failed = False  # the transaction, by the last ReadyForQuery

    def key(self):
        return self.random.randrange(1, 6)

    def row_statement(self):
        return self.random.choice([
            "SELECT * FROM kv WHERE k = %d" % self.key(), "SELECT k, v FROM kv ORDER BY k", "SELECT count(*), sum(v) FROM kv WHERE v > %d" % self.key(),
            "SELECT v FROM kv WHERE k = %d FOR UPDATE" % self.key(), "UPDATE kv SET v = v + 1 WHERE k = %d" % self.key(), "UPDATE kv SET v = v",
            "INSERT INTO kv VALUES (%d, 7)" % (self.key() + 3), "DELETE FROM kv WHERE k = %d RETURNING v" % self.key(), "TABLE other",
            "INSERT INTO other VALUES (%d) ON CONFLICT DO NOTHING" % self.key(), "WITH x AS (UPDATE kv SET v = 0 WHERE k = 1 RETURNING v) SELECT * FROM x"])

    def block(self):
        draw, level = self.random, self.random.choice(LEVELS)
        return draw.choice(["BEGIN", "COMMIT", "COMMIT", "ROLLBACK", "COMMIT AND CHAIN", "SAVEPOINT s", "ROLLBACK TO s", "RELEASE s", "PREPARE TRANSACTION 'x'",
                            "SET TRANSACTION ISOLATION LEVEL " + level, "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL " + level,
                            "BEGIN ISOLATION LEVEL %s%s" % (level, draw.choice(["", "", " READ ONLY", " READ ONLY DEFERRABLE"])),
                            "BEGIN ISOLATION LEVEL " + level, "START TRANSACTION ISOLATION LEVEL " + level])

    def cursor(self):
        return self.random.choice(["DECLARE c CURSOR FOR SELECT k, v FROM kv ORDER BY k", "DECLARE h CURSOR WITH HOLD FOR SELECT k FROM kv ORDER BY k", "FETCH 2 FROM c",
                                   "FETCH ALL FROM c", "MOVE 1 FROM c", "FETCH 1 FROM h", "CLOSE c", "CLOSE h", "PREPARE a AS SELECT * FROM kv WHERE k = 2", "EXECUTE a",
                                   "EXECUTE b(1)", "PREPARE b (int) AS SELECT v FROM kv WHERE k = $1", "DEALLOCATE a"])

    def statement(self):
        kinds = [self.row_statement, self.block, self.cursor, lambda: self.random.choice(PLAIN)]
        return self.random.choices(kinds, [12, 2, 1, 2])[0]()

    def message(self):
        """One of the extended protocol, without a Sync."""
        draw, name = self.random, self.random.choice(self.names)
        if draw.random() < 0.7:
            return extended(self.statement())
        return draw.choice([
            lambda: extended(self.statement()), lambda: parse(name, self.statement()), lambda: parse(name, "SELECT v FROM kv WHERE k = $1", 23),
            lambda: bind(name, name, [b"%d" % self.key()]), lambda: bind(name, name), lambda: describe(b"S", name), lambda: describe(b"P", name),
            lambda: execute(name, draw.randrange(3)), lambda: close(b"S", name), lambda: close(b"P", name),
            lambda: extended("SELECT v FROM kv WHERE k = $1", [b"%d" % self.key()], results=[1])])()

    def step(self):
        """Bytes, or some that are sent behind others' answers, and how many ReadyForQuery come."""
        draw = self.random.random()
        if self.has_failed and draw < 0.7:
            return query(self.random.choice(["ROLLBACK", "ROLLBACK TO s", "COMMIT"])), 1
        if self.is_first:
            self.is_first = False
            return query("BEGIN ISOLATION LEVEL " + self.random.choice(LEVELS[2:] + LEVELS)), 1
        if draw < 0.6:
            return query(self.statement()), 1
        if draw < 0.85:
            return [b"".join(self.message() for _ in range(self.random.randrange(1, 5))) + FLUSH for _ in range(self.random.choice([0, 0, 0, 1]))] + [
                b"".join(self.message() for _ in range(self.random.randrange(1, 5))) + SYNC], 1
        if draw < 0.93:  # a pipeline
            return query(self.statement()) + self.message() + SYNC + query(self.statement()), 3
        if draw < 0.97:
            return query("COPY kv (k, v) FROM STDIN") + message(b"d", b"%d\t1\n" % (10 + self.key())) + message(b"c"), 1
        return message(b"F", struct.pack("!ihhiBiBh", 177, 0, 2, 1, 50, 1, 51, 0)), 1

    def writing_beside(self):
        """What another session does meanwhile, or nothing."""
        draw, level = self.random, self.random.choice(LEVELS)
        if draw.random() < 0.5:
            return None
        write = draw.choice(["UPDATE kv SET v = v + 100 WHERE k = %d" % self.key(), "INSERT INTO kv VALUES (%d, 50) ON CONFLICT DO NOTHING" % self.key(),
                             "DELETE FROM kv WHERE k = %d" % self.key(), "INSERT INTO other VALUES (%d) ON CONFLICT DO NOTHING" % self.key()])
        return "BEGIN ISOLATION LEVEL %s; SELECT sum(v) FROM kv; %s; COMMIT" % (level, write)


def run(sides, seed):
    """None, or what differs; and how many messages came, of which how many were 40001."""
    sequence, said, count, refused = Sequence(seed), [], 0, 0
    for side in sides:
        side.begin(seed)
    for _ in range(sequence.random.randrange(3, 16)):
        data, ready = sequence.step()
        said.append(data)
        for part in data if isinstance(data, list) else [data]:
            for side in sides:
                side.send(part)
            if part.endswith(FLUSH):
                time.sleep(.005)
        answers = [side.answers(ready) for side in sides]
        if answers[0] != answers[-1]:
            for side in sides:
                side.beside.quietly("SELECT 1")  # is the server there?
            return (said, answers), count, refused
        count += len(answers[0])
        sequence.has_failed = answers[0][-1] is not None and answers[0][-1][-1:] == b"E"
        refused += sum(one is not None and b"C40001" in one for one in answers[0])
        if answers[0][-1] is None:
            for side in sides:
                side.end()
            break
        beside = sequence.writing_beside()
        if beside:
            said.append(beside)
            for side in sides:
                side.beside.begin_quietly(beside, "ROLLBACK")
            for side in sides:
                side.beside.end_quietly(2)
    return None, count, refused


def crashes_alone(side, seed):
    """Whether the server does without the proxy, too, by the same sequences: those of the session, of the one before, which may have
    ended with it, and one more, since other sessions are told of a crash a moment later."""
    side.connect_beside()
    side.end()
    try:
        for one in range(seed - seed % SESSION - SESSION, seed + 2):
            run([side], one)
        side.beside.quietly("SELECT 1")
    except ConnectionError:
        side.connect_beside()
        return True
    return False


def main():
    options = argparse.ArgumentParser()
    options.add_argument("direct", type=int)
    options.add_argument("proxy", type=int)
    options.add_argument("--sequences", type=int, default=300)
    options.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "1")))
    options.add_argument("--seconds", type=float, default=float("inf"), help="and no new one after these")
    options.add_argument("--from", type=int, default=0, dest="first")
    options = options.parse_args()
    sides = [Side(options.direct, options.direct, "one"), Side(options.proxy, options.direct, "two")]
    messages = refused = bad = crashes = done = 0
    until = time.monotonic() + options.seconds
    for i in range(options.first, options.first + options.sequences):
        if time.monotonic() > until:
            break
        seed, done = options.seed * 1000003 + i, done + 1
        try:
            differs, count, serialization = run(sides, seed)
        except ConnectionError:
            alone = any(crashes_alone(sides[0], seed) for _ in range(5))  # two times of three, PostgreSQL 15.18
            print("# seed %d: the server crashed, and %s without the proxy" % (seed, "also" if alone else "NOT"), file=out, flush=True)
            crashes, bad = crashes + 1, bad + (not alone)
            for side in sides:
                side.end()
                side.connect_beside()
            continue
        messages += count
        refused += serialization
        if differs:
            for side in sides:
                side.end()
            bad += 1
            print("# seed %d" % seed, file=out)
            for data in differs[0]:
                print("#   said %r" % data, file=out)
            for name, answers in zip(("direct", "through"), differs[1]):
                for one in answers:
                    print("#   %s %r" % (name, one), file=out)
            if bad > 3:
                break
    good = not bad and refused > done // 100 and crashes <= 1 + done // 1000
    print("%sok 1 - %d sequences: %d messages of the server are the same, %d of them 40001" % ("" if good else "not ", done, messages, refused), file=out)


if __name__ == "__main__":
    main()
