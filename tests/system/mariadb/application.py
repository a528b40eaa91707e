#!/usr/bin/python3
"""A small shop on MariaDB, as people write one, that records each of its transactions as a line of JSON on stdout.

    application.py --port PORT --database NAME --create
    application.py --port PORT --database NAME [option...]

Sessions read some registers and write some: accounts (a key of two columns), items (a text), kv (rows come and go), bulk (LOAD DATA).
Every value is written once. --join says how a record names its transaction: `marker` (a row that it writes), `gtid` (asked for after
the COMMIT), or, with a consistent snapshot, `position` (a marker, and the place in the binlog that the snapshot sees) and `snapshot`
(a marker, and the snapshot's GTID). A connection that is lost during COMMIT leaves an unknown outcome, any earlier one an abort; then the
session waits for a server at PORT, or at what a file named by --moved says.
"""
import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time

import pymysql

BRANCHES, ACCOUNTS, ITEMS, KEYS, LOADED = 3, 4, 8, 12, 200
DEADLOCK, LOCK_TIMEOUT, CHANGED = 1213, 1205, 1020
ITEM_NAMES = ["apple", "pear/half", "plum,dried", "fig%", "kiwi", "lime", "nut", "oat"]
TABLES = """
CREATE TABLE account (branch SMALLINT, no INT, v BIGINT NOT NULL, PRIMARY KEY (branch, no));
CREATE TABLE item (sku VARCHAR(20) COLLATE utf8mb4_bin PRIMARY KEY, label TEXT, v BIGINT NOT NULL);
CREATE TABLE kv (k INT PRIMARY KEY, v BIGINT);
CREATE TABLE bulk (id INT PRIMARY KEY, v BIGINT);
CREATE TABLE churn (id INT PRIMARY KEY, v BIGINT);
CREATE TABLE tx_marker (client INT PRIMARY KEY, tid VARCHAR(64));
CREATE TABLE drain (k INT PRIMARY KEY, v BIGINT)
"""


def escape(text):
    return str(text).replace("%", "%25").replace("/", "%2F").replace(",", "%2C")


class Register:
    """A row whose value is its column v."""

    def __init__(self, table, **key):
        self.table, self.key = table, key
        self.where = " AND ".join(f"{column} = %s" for column in key)

    def name(self, database):
        return f"{database}.{self.table}/" + ",".join(escape(part) for part in self.key.values())

    def read(self, cursor):
        cursor.execute(f"SELECT v FROM {self.table} WHERE {self.where}", tuple(self.key.values()))
        row = cursor.fetchone()
        return row[0] if row else None

    def write(self, cursor, value):
        columns = ", ".join(self.key)
        places = ", ".join(["%s"] * len(self.key))
        cursor.execute(f"INSERT INTO {self.table} ({columns}, v) VALUES ({places}, %s) ON DUPLICATE KEY UPDATE v = VALUES(v)",
                       (*self.key.values(), value))

    def delete(self, cursor):
        return cursor.execute(f"DELETE FROM {self.table} WHERE {self.where}", tuple(self.key.values()))


class Values:
    """Numbers that no other process draws."""

    def __init__(self, seed):
        self.lock, self.next = threading.Lock(), seed * 10_000_000

    def draw(self):
        with self.lock:
            self.next += 1
            return self.next


class Log:
    def __init__(self):
        self.lock, self.counts = threading.Lock(), {}

    def put(self, record):
        with self.lock:
            sys.stdout.write(json.dumps(record) + "\n")
            sys.stdout.flush()
            status = record.get("status", "committed")
            self.counts[status] = self.counts.get(status, 0) + 1


def port_of(options):
    if options.moved and os.path.exists(options.moved):
        with open(options.moved) as file:
            return int(file.read())
    return options.port


def connect(options):
    """Waits for a server as long as a minute."""
    ends = time.monotonic() + 60
    while True:
        try:
            return pymysql.connect(host="127.0.0.1", port=port_of(options), user="isochron", password="isochron",
                                   database=options.database, autocommit=True, local_infile=True)
        except pymysql.err.OperationalError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.2)


class Transaction:
    """One attempt: its record grows with what the server answered."""

    asking = threading.Lock()

    def __init__(self, session, number):
        self.session, self.cursor, self.options = session, session.connection.cursor(), session.options
        self.tid = f"{session.name}-{number}"
        self.operations, self.snapshot, self.wrote = [], None, False
        self.is_xa = self.options.xa and session.chance.random() < 0.5

    def begin(self):
        if self.is_xa:
            self.cursor.execute(f"XA START '{self.tid}'")
            return
        if self.options.join not in ("position", "snapshot"):
            self.cursor.execute("START TRANSACTION")
            return
        self.cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        with Transaction.asking:  # two that ask at once may get each other's answer (docs/attach-mysql.md)
            self.cursor.execute("SHOW STATUS LIKE 'binlog_snapshot_%'")
            place = {name.lower(): value for name, value in self.cursor.fetchall()}
        self.snapshot = f"{place['binlog_snapshot_file']}:{place['binlog_snapshot_position']}"
        if self.options.join == "snapshot":
            self.cursor.execute("SELECT BINLOG_GTID_POS(%s, %s)", tuple(self.snapshot.rsplit(":", 1)))
            self.snapshot = self.cursor.fetchone()[0]

    def read(self, register):
        value = register.read(self.cursor)
        self.operations.append({"t": "r", "k": register.name(self.options.database), "v": value})
        return value

    def write(self, register, value):
        self.wrote = True
        self.operations.append({"t": "w", "k": register.name(self.options.database), "v": value})
        register.write(self.cursor, value)

    def delete(self, register):
        """One that finds no row is none."""
        if register.delete(self.cursor):
            self.wrote = True
            self.operations.append({"t": "d", "k": register.name(self.options.database)})

    def mark(self):
        if self.options.join != "gtid":
            self.cursor.execute("REPLACE INTO tx_marker VALUES (%s, %s)", (self.session.number, self.tid))

    def record(self, status):
        record = {"tid": self.tid, "sid": self.session.name, "ops": self.operations}
        if self.snapshot:
            record["snapshot"] = self.snapshot
        if status != "committed":
            record["status"] = status
        return record

    def commit(self):
        if self.is_xa:
            for statement in ("XA END", "XA PREPARE", "XA COMMIT"):
                self.cursor.execute(f"{statement} '{self.tid}'")
        else:
            self.cursor.execute("COMMIT")
        if self.options.join == "gtid":
            self.cursor.execute("SELECT @@last_gtid")
            self.tid = self.cursor.fetchone()[0]

    def undo(self):
        if not self.is_xa:
            self.cursor.execute("ROLLBACK")
            return
        for statement in ("XA END", "XA ROLLBACK"):
            try:
                self.cursor.execute(f"{statement} '{self.tid}'")
            except pymysql.err.MySQLError:
                pass  # the server has ended it, or rolled it back, itself


class Session(threading.Thread):
    def __init__(self, options, number, log, values):
        super().__init__()
        self.options, self.number, self.log, self.values = options, number, log, values
        self.name = f"{options.prefix}{number}"
        self.chance = random.Random(options.seed * 1000 + number)
        self.failed = None

    def open(self):
        self.connection = connect(self.options)
        with self.connection.cursor() as cursor:
            cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {self.options.isolation}")
            cursor.execute("SET SESSION innodb_lock_wait_timeout = 2, lock_wait_timeout = 5")
            if self.options.snapshot_isolation:
                cursor.execute(f"SET SESSION innodb_snapshot_isolation = {self.options.snapshot_isolation}")

    def register(self):
        kind = self.chance.random()
        if kind < 0.4:
            return Register("account", branch=self.chance.randrange(BRANCHES), no=self.chance.randrange(ACCOUNTS))
        if kind < 0.7:
            return Register("item", sku=self.chance.choice(ITEM_NAMES))
        return Register("kv", k=self.chance.randrange(KEYS))

    def registers(self, count):
        found = {}
        while len(found) < count:
            register = self.register()
            found[register.name("")] = register
        return list(found.values())

    def change(self, transaction):
        """Reads some, then writes some of them, and now and then others."""
        chosen = self.registers(self.chance.randint(1, 4))
        for register in chosen:
            transaction.read(register)
        for register in chosen[:self.chance.randint(1, len(chosen))]:
            if register.table == "kv" and self.chance.random() < 0.2:
                transaction.delete(register)
            else:
                transaction.write(register, self.values.draw())
        if self.chance.random() < 0.2:
            transaction.read(chosen[0])

    def look(self, transaction):
        for register in self.registers(self.chance.randint(2, 5)):
            transaction.read(register)

    def same(self, transaction):
        """An update to what is there has no row in the binlog."""
        register = Register("account", branch=0, no=0)
        value = transaction.read(register)
        if value is not None:
            transaction.write(register, value)

    def load(self, transaction):
        first = self.chance.randrange(20) * LOADED
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
            for number in range(first, first + LOADED):
                value = self.values.draw()
                file.write(f"{number}\t{value}\n")
                transaction.operations.append({"t": "w", "k": f"{self.options.database}.bulk/{number}", "v": value})
            file.flush()
            transaction.wrote = True
            transaction.cursor.execute("LOAD DATA LOCAL INFILE %s REPLACE INTO TABLE bulk", (file.name,))

    def work(self, transaction):
        kind = self.chance.random()
        if kind < 0.04 and self.options.join != "gtid":
            self.load(transaction)
        elif kind < 0.08 and self.options.join == "marker":
            self.same(transaction)
        elif kind < 0.25 and self.options.join != "gtid":
            self.look(transaction)
        else:
            self.change(transaction)

    def attempt(self, number):
        transaction = Transaction(self, number)
        committing = False
        try:
            transaction.begin()
            self.work(transaction)
            if transaction.wrote or self.options.join == "marker":
                transaction.mark()
            if self.options.pause:
                time.sleep(self.chance.random() * self.options.pause)
            nameless = self.options.join == "gtid" and not transaction.wrote
            if nameless or (self.chance.random() < 0.05 and not transaction.is_xa):
                transaction.cursor.execute("ROLLBACK")
                self.log.put(transaction.record("aborted"))
                return
            committing = True
            transaction.commit()
            self.log.put(transaction.record("committed"))
        except (pymysql.err.OperationalError, pymysql.err.InternalError, pymysql.err.InterfaceError) as error:
            refused = error.args and error.args[0] in (DEADLOCK, LOCK_TIMEOUT, CHANGED)
            if refused:
                transaction.undo()
            status = "unknown" if committing and not refused else "aborted"
            if transaction.operations and not (status == "unknown" and self.options.join == "gtid"):
                self.log.put(transaction.record(status))
            if not refused:
                self.open()

    def run(self):
        try:
            self.open()
            for number in range(self.options.transactions):
                self.attempt(number)
        except BaseException as error:  # told at the end: a thread's exit says nothing
            self.failed = error
            raise


class Churn(threading.Thread):
    """Statements that commit by themselves, on a table of their own, and rows between them; files of the log are changed."""

    def __init__(self, options, log, values):
        super().__init__(daemon=True)
        self.options, self.log, self.values = options, log, values
        self.ends, self.rounds = threading.Event(), 0

    def statements(self):
        self.rounds += 1
        yield "FLUSH BINARY LOGS"
        yield f"ALTER TABLE churn ADD COLUMN c{self.rounds} INT"
        yield "TRUNCATE TABLE churn"
        yield "FLUSH BINARY LOGS"
        # Debezium 3.0 stops at rows of a table that CREATE OR REPLACE gave other columns.
        yield f"ALTER TABLE churn DROP COLUMN c{self.rounds}"
        yield "CREATE OR REPLACE TABLE churn (id INT PRIMARY KEY, v BIGINT)"
        yield "CREATE OR REPLACE TABLE churn_next (id INT PRIMARY KEY, v BIGINT)"
        yield "DROP TABLE IF EXISTS churn_old"
        yield "RENAME TABLE churn TO churn_old, churn_next TO churn"

    def fill(self, cursor):
        for key in range(5):
            cursor.execute("REPLACE INTO churn (id, v) VALUES (%s, %s)", (key, self.values.draw()))
            cursor.execute("UPDATE churn SET v = %s WHERE id = %s", (self.values.draw(), key))

    def step(self, statement):
        try:
            with connect(self.options) as connection, connection.cursor() as cursor:
                cursor.execute("SET SESSION lock_wait_timeout = 5")
                self.fill(cursor)
                cursor.execute(statement)
                self.fill(cursor)
        except pymysql.err.MySQLError:
            time.sleep(0.2)  # the server is away, or the table is held

    def run(self):
        while not self.ends.is_set():
            for statement in self.statements():
                while self.options.calm and os.path.exists(self.options.calm) and not self.ends.wait(0.2):
                    pass
                self.step(statement)
                if self.ends.wait(self.options.churn):
                    break


def fill(cursor):
    """The tables of a new database."""
    for statement in TABLES.split(";"):
        cursor.execute(statement)
    for branch in range(BRANCHES):
        cursor.executemany("INSERT INTO account VALUES (%s, %s, %s)", [(branch, no, -1 - no - 100 * branch) for no in range(ACCOUNTS)])
    cursor.executemany("INSERT INTO item VALUES (%s, 'x', %s)", [(name, -1000 - i) for i, name in enumerate(ITEM_NAMES)])
    cursor.execute("INSERT INTO tx_marker VALUES (0, '')")
    cursor.executemany("INSERT INTO kv VALUES (%s, %s)", [(k, -2000 - k) for k in range(0, KEYS, 2)])


def create(options, fill):
    connection = pymysql.connect(host="127.0.0.1", port=options.port, user="isochron", password="isochron", autocommit=True)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {options.database}")
        cursor.execute(f"USE {options.database}")
        fill(cursor)


def main(Session=Session, fill=fill):
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--moved", help="a file that says at which port the server is, once it is elsewhere")
    parser.add_argument("--database", required=True)
    parser.add_argument("--create", action="store_true")
    parser.add_argument("--join", choices=["marker", "gtid", "position", "snapshot"], default="marker")
    parser.add_argument("--isolation", default="SERIALIZABLE")
    parser.add_argument("--snapshot-isolation", help="ON or OFF")
    parser.add_argument("--sessions", type=int, default=6)
    parser.add_argument("--transactions", type=int, default=100)
    parser.add_argument("--pause", type=float, default=0, help="at most that many seconds before each COMMIT")
    parser.add_argument("--churn", type=float, help="seconds between statements that change tables and logs")
    parser.add_argument("--calm", help="a file: as long as it is there no table is changed")
    parser.add_argument("--xa", action="store_true")
    parser.add_argument("--prefix", default="s")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.create:
        create(options, fill)
        return 0
    log, values = Log(), Values(options.seed)
    sessions = [Session(options, number, log, values) for number in range(options.seed * 100, options.seed * 100 + options.sessions)]
    churn = Churn(options, log, values) if options.churn else None
    for thread in sessions + ([churn] if churn else []):
        thread.start()
    for session in sessions:
        session.join()
    if churn:
        churn.ends.set()
        churn.join()
        log.counts["rounds of statements"] = churn.rounds
    print(json.dumps(log.counts), file=sys.stderr)
    return 1 if any(session.failed for session in sessions) else 0


if __name__ == "__main__":
    sys.exit(main())
