#!/usr/bin/env python3
"""Speaks PostgreSQL's protocol byte by byte, and prints every message of the server: what is compared with and without the proxy.

    talk.py PORT [DATABASE]

Each conversation is a list of steps; a step is bytes to send and how many ReadyForQuery to wait for. Process ids and keys of
BackendKeyData are not printed, since they differ from session to session. Leaves the database as it was: table kv, rows 1 to 5.
"""
import socket
import struct
import sys
import time


def message(kind, body=b""):
    return kind + struct.pack("!i", len(body) + 4) + body


def text(string):
    return string.encode() + b"\0"


def query(sql):
    return message(b"Q", text(sql))


def parse(name, sql, *types):
    return message(b"P", text(name) + text(sql) + struct.pack("!h", len(types)) + b"".join(struct.pack("!i", t) for t in types))


def bind(portal, name, values=(), formats=(), results=()):
    body = text(portal) + text(name) + struct.pack("!h", len(formats)) + b"".join(struct.pack("!h", f) for f in formats)
    body += struct.pack("!h", len(values))
    for value in values:
        body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
    return message(b"B", body + struct.pack("!h", len(results)) + b"".join(struct.pack("!h", r) for r in results))


def describe(what, name=""):
    return message(b"D", what + text(name))


def execute(portal="", rows=0):
    return message(b"E", text(portal) + struct.pack("!i", rows))


def close(what, name=""):
    return message(b"C", what + text(name))


SYNC = message(b"S")
FLUSH = message(b"H")
TERMINATE = message(b"X")


def extended(sql, values=(), types=(), formats=(), results=()):
    return parse("", sql, *types) + bind("", "", values, formats, results) + describe(b"P") + execute()


class Session:
    def __init__(self, port, database):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(20)
        self.held = b""
        self.key = b""
        body = struct.pack("!i", 196608) + text("user") + text("postgres") + text("database") + text(database) + b"\0"
        self.socket.sendall(struct.pack("!i", len(body) + 4) + body)
        self.until_ready(1)

    def take(self):
        while len(self.held) < 5 or len(self.held) < 1 + struct.unpack("!i", self.held[1:5])[0]:
            more = self.socket.recv(65536)
            if not more:
                return None, None
            self.held += more
        length = 1 + struct.unpack("!i", self.held[1:5])[0]
        kind, body, self.held = self.held[:1], self.held[5:length], self.held[length:]
        if kind == b"K":
            self.key, body = body, b"..."
        print(kind.decode(), body.hex() if len(body) < 400 else "%d %x" % (len(body), hash_of(body)))
        return kind, body

    def until_ready(self, times):
        while times:
            kind, _ = self.take()
            if kind is None:
                print("end")
                return
            times -= kind == b"Z"

    def until(self, wanted):
        while True:
            kind, _ = self.take()
            if kind is None or kind == wanted:
                return

    def quietly(self, *sql):
        self.begin_quietly(*sql)
        self.end_quietly(len(sql))

    def begin_quietly(self, *sql):
        self.socket.sendall(b"".join(map(query, sql)))

    def end_quietly(self, times):
        while times:
            while len(self.held) < 5 or len(self.held) < 1 + struct.unpack("!i", self.held[1:5])[0]:
                more = self.socket.recv(65536)
                if not more:
                    raise ConnectionResetError("the server ended the connection")
                self.held += more
            length = 1 + struct.unpack("!i", self.held[1:5])[0]
            kind, self.held = self.held[:1], self.held[length:]
            times -= kind == b"Z"

    def say(self, data, ready=1, slowly=0):
        if slowly:
            for i in range(0, len(data), slowly):
                self.socket.sendall(data[i:i + slowly])
                time.sleep(0.001)
        else:
            self.socket.sendall(data)
        self.until_ready(ready)


def hash_of(body):
    value = 0
    for byte in body:
        value = (value * 131 + byte) & 0xFFFFFFFFFFFF
    return value


def int4(number):
    return struct.pack("!i", number)


LEVELS = ["read committed", "repeatable read", "serializable"]


def transactions(s):
    for level in LEVELS:
        s.say(query("BEGIN ISOLATION LEVEL " + level))
        s.say(query("SELECT * FROM kv WHERE k = 1"))
        s.say(query("UPDATE kv SET v = v + 1 WHERE k = 1"))
        s.say(query("SELECT v FROM kv"))
        s.say(query("ROLLBACK"))
        s.say(query("START TRANSACTION ISOLATION LEVEL " + level))
        s.say(query("UPDATE kv SET v = v WHERE k = 2"))
        s.say(query("COMMIT"))
    s.say(query("BEGIN"))
    s.say(query("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"))
    s.say(query("SHOW transaction_isolation"))
    s.say(query("SELECT count(*) FROM kv"))
    s.say(query("SET TRANSACTION ISOLATION LEVEL READ COMMITTED"))  # an error: a query was asked
    s.say(query("SELECT 1"))  # in a failed block
    s.say(query("COMMIT"))
    s.say(query("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
    s.say(query("BEGIN; SELECT * FROM kv; COMMIT; BEGIN"))
    s.say(query("SELECT * FROM kv"))
    s.say(query("SAVEPOINT one"))
    s.say(query("SELECT 1 / 0"))
    s.say(query("ROLLBACK TO one"))
    s.say(query("SELECT * FROM kv WHERE k = 3 FOR UPDATE"))
    s.say(query("RELEASE one"))
    s.say(query("COMMIT AND CHAIN"))
    s.say(query("SELECT * FROM kv"))
    s.say(query("END"))
    s.say(query("SELECT nothing FROM nowhere; SELECT 1"))
    s.say(query(""))
    s.say(query("SELECT 1; SELECT 2; SELECT 3"))


def unnamed(s):
    """The client's unnamed statement and portal survive the proxy's questions."""
    s.say(query("BEGIN ISOLATION LEVEL REPEATABLE READ"))
    s.say(parse("", "SELECT k, v FROM kv WHERE k <= $1 ORDER BY k", 23) + SYNC)
    s.say(bind("", "", [b"5"]) + describe(b"P") + execute("", 2) + SYNC)
    s.say(execute("", 2) + SYNC)
    s.say(execute("", 9) + SYNC)
    s.say(bind("", "", [b"1"]) + execute() + SYNC)
    s.say(parse("commit", "COMMIT") + SYNC)
    s.say(extended("UPDATE kv SET v = v WHERE k = $1", [b"1"]) + SYNC)
    s.say(bind("", "commit") + execute() + SYNC)
    s.say(query("SELECT name, statement FROM pg_prepared_statements ORDER BY 1"))
    s.say(query("SELECT name FROM pg_cursors"))


def pipelines(s):
    s.say(extended("SELECT 1") + SYNC + extended("SELECT 1/0") + extended("SELECT 2") + SYNC + extended("SELECT 3") + SYNC, 3)
    s.say(extended("BEGIN ISOLATION LEVEL SERIALIZABLE") + extended("SELECT * FROM kv") + extended("UPDATE kv SET v = v WHERE k = 4") +
          extended("COMMIT") + SYNC)
    s.say(query("BEGIN ISOLATION LEVEL REPEATABLE READ") + query("SELECT * FROM kv") + query("UPDATE kv SET v = v") + query("COMMIT"), 4)
    s.say(parse("a", "SELECT v FROM kv WHERE k = $1") + describe(b"S", "a") + bind("p", "a", [int4(2)], [1], [1]) +
          describe(b"P", "p") + execute("p") + close(b"P", "p") + close(b"S", "a") + SYNC)
    s.say(parse("a", "SELECT broken from") + bind("", "a") + execute() + SYNC)
    s.say(bind("", "not there") + execute() + SYNC)
    s.say(extended("") + SYNC)
    s.socket.sendall(extended("SELECT generate_series(1, 3)") + FLUSH)
    s.until(b"C")
    s.say(SYNC)
    s.say(b"".join(extended("SELECT v FROM kv WHERE k = $1", [str(k).encode()]) for k in range(300)) + SYNC)
    s.say(query("DISCARD ALL"))


def copies(s):
    s.socket.sendall(query("COPY kv (k, v) FROM STDIN"))
    s.until(b"G")
    s.say(message(b"d", b"100\t1\n") + message(b"d", b"101\t2\n10") + message(b"d", b"2\t3\n") + message(b"c"))
    s.say(query("COPY (SELECT k, v FROM kv ORDER BY k) TO STDOUT"))
    s.say(query("DELETE FROM kv WHERE k >= 100"))
    s.socket.sendall(query("COPY kv (k, v) FROM STDIN"))
    s.until(b"G")
    s.say(message(b"d", b"200\tx\n") + message(b"f", text("given up")))
    s.say(extended("COPY kv (k, v) FROM STDIN") + SYNC + message(b"d", b"300\t1\n") + message(b"c") + SYNC)
    s.say(extended("COPY kv (k, v) FROM STDIN") + SYNC + message(b"d", b"bad\n") + message(b"c") + SYNC)
    s.say(query("DELETE FROM kv WHERE k >= 100"))
    s.say(query("BEGIN ISOLATION LEVEL SERIALIZABLE"))
    s.socket.sendall(query("COPY kv (k, v) FROM STDIN"))
    s.until(b"G")
    s.say(message(b"d", b"400\t1\n") + message(b"c"))
    s.say(query("ROLLBACK"))


def cursors(s):
    s.say(query("BEGIN ISOLATION LEVEL REPEATABLE READ"))
    s.say(query("DECLARE c SCROLL CURSOR FOR SELECT k, v FROM kv ORDER BY k"))
    s.say(query("FETCH 2 FROM c"))
    s.say(query("UPDATE kv SET v = v + 10"))
    s.say(query("FETCH BACKWARD 1 FROM c"))
    s.say(query("FETCH ALL FROM c"))
    s.say(query("MOVE FIRST FROM c"))
    s.say(query("CLOSE c"))
    s.say(query("ROLLBACK"))
    s.say(query("BEGIN"))
    s.say(query("DECLARE h CURSOR WITH HOLD FOR SELECT k FROM kv ORDER BY k"))
    s.say(query("COMMIT"))
    s.say(query("FETCH 3 FROM h"))
    s.say(query("CLOSE h"))


def types(s):
    sql = ("SELECT k, 1::int2, 2::int8, 1.50::numeric, 'x'::text, 'c'::char(3), true, '2024-02-29'::date, '2024-02-29 12:00'::timestamp, "
           "'2024-02-29 12:00+02'::timestamptz, '\\x00ff'::bytea, '{\"a\":1}'::jsonb, ARRAY[1,2], 1.5::float8, NULL, '1 day'::interval, "
           "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, '10.0.0.1'::inet, int4range(1,3), v FROM kv ORDER BY k")
    s.say(query(sql))
    for results in ([], [1], [0]):
        s.say(extended(sql, results=results) + SYNC)
    for setting in ("DateStyle = 'SQL, DMY'", "client_encoding = 'LATIN1'", "TimeZone = 'Asia/Tokyo'", "standard_conforming_strings = off"):
        s.say(query("SET " + setting))
        s.say(query(sql + " LIMIT 1"))
        s.say(query("SELECT 'a\\'b', * FROM kv WHERE k = 1" if "standard" in setting else "SELECT chr(233), * FROM kv WHERE k = 1"))


def sizes(s):
    s.say(query("SELECT repeat('x', 300000), k FROM kv"))
    s.say(query("SELECT length('" + "y" * 100000 + "'), k FROM kv"))
    s.say(query("SELECT length('" + "y" * 1500000 + "'), k FROM kv"))  # larger than what is looked at: seen no more
    s.say(query("SELECT repeat('z', 5000000)"))
    s.say(query("SELECT 1"))


def slow(s):
    """A byte at a time."""
    s.say(query("BEGIN ISOLATION LEVEL SERIALIZABLE"), slowly=1)
    s.say(extended("SELECT v FROM kv WHERE k = $1", [b"1"]) + SYNC, slowly=1)
    s.say(query("UPDATE kv SET v = v WHERE k = 1"), slowly=3)
    s.say(query("COMMIT"), slowly=1)


def notifications(s):
    s.say(query("LISTEN news"))
    s.say(query("BEGIN ISOLATION LEVEL REPEATABLE READ"))
    s.say(query("SELECT * FROM kv"))
    s.say(query("DO $$ BEGIN RAISE NOTICE 'note %', 1; END $$"))
    s.say(query("COMMIT"))


def others(s):
    s.say(query("PREPARE q (int) AS SELECT * FROM kv WHERE k = $1"))
    s.say(query("EXECUTE q(2)"))
    s.say(query("DEALLOCATE ALL"))
    s.say(query("EXPLAIN (COSTS OFF) SELECT * FROM kv"))
    s.say(query("WITH x AS (UPDATE kv SET v = v WHERE k = 1 RETURNING k, v) SELECT * FROM x"))
    s.say(query("CREATE TEMP TABLE t (a int)"))
    s.say(query("VACUUM kv"))
    s.say(query("SELECT pg_backend_pid() > 0"))
    s.say(message(b"F", struct.pack("!ihhiBiBh", 177, 0, 2, 1, 50, 1, 51, 0)))
    s.say(message(b"Q", b"SELECT 1"), 1)  # no zero byte: the server ends it


def main():
    port, database = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "postgres"
    for conversation in (transactions, unnamed, pipelines, copies, cursors, types, sizes, slow, notifications, others):
        print("==", conversation.__name__)
        session = Session(port, database)
        session.quietly("TRUNCATE kv; INSERT INTO kv SELECT i, i FROM generate_series(1, 5) i")
        try:
            conversation(session)
            session.socket.sendall(TERMINATE)
            session.until(b"")
        except (BrokenPipeError, ConnectionResetError):
            print("end")
        session.socket.close()


if __name__ == "__main__":
    main()
