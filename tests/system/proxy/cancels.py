#!/usr/bin/env python3
"""Cancels that may hit a question of the proxy's: a transaction fails only with a statement of the client's own that was cancelled.

    cancels.py PROXY-PORT DATABASE [--times N] [--beside DIRECT-PORT]    TAP without a plan, on stdout

--beside: pg_cancel_backend does it, again and again, of which the proxy knows nothing.
"""
import argparse
import os
import random
import re
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.stdout, out = open(os.devnull, "w"), sys.stdout
import talk  # noqa: E402


class Session(talk.Session):
    def answer(self):
        """The SQLSTATEs of errors, the command tag and the status."""
        states, tag = [], ""
        while True:
            kind, body = self.take()
            if kind == b"E":
                states.append(re.search(rb"\0C(\w{5})", body).group(1).decode())
            elif kind == b"C":
                tag = body[:-1].decode()
            elif kind == b"Z":
                return states, tag, body.decode()

    def ask(self, sql):
        self.socket.sendall(talk.query(sql))
        return self.answer()


def cancel(port, key):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(struct.pack("!ii", 16, 80877102) + key)
        connection.recv(1)  # its end: the server has taken the request


def cancel_beside(port, key):
    """As long as there is somebody to cancel."""
    session = Session(port, "postgres")
    session.socket.settimeout(None)
    session.ask("DO $$ BEGIN WHILE pg_cancel_backend(%d) LOOP PERFORM pg_sleep(0.00005); END LOOP; END $$" % struct.unpack_from("!i", key))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("port", type=int)
    options.add_argument("database")
    options.add_argument("--times", type=int, default=300)
    options.add_argument("--beside", type=int)
    options = options.parse_args()
    session, draw, cancelled, wrong, threads = Session(options.port, options.database), random.Random(1), 0, [], []
    if options.beside:
        threading.Thread(target=cancel_beside, args=(options.beside, session.key), daemon=True).start()
    for _ in range(options.times):
        while session.ask("BEGIN ISOLATION LEVEL " + draw.choice(talk.LEVELS))[0]:
            pass
        is_cancelled, sent = False, draw.randrange(4)
        for step, sql in enumerate(["SELECT v FROM kv WHERE k = 1", "UPDATE kv SET v = v WHERE k = 2", "SELECT count(*) FROM kv", "COMMIT"]):
            if step == sent and not options.beside:
                threads.append(threading.Thread(target=cancel, args=(options.port, session.key)))
                threads[-1].start()
            session.socket.sendall(talk.query(sql))
            states, tag, status = session.answer()
            if "57014" in states:
                is_cancelled = True
                cancelled += 1
            elif states and not is_cancelled:
                wrong.append((sql, states))
            elif sql == "COMMIT" and tag != "COMMIT" and not is_cancelled:
                wrong.append((sql, tag))
        for one in threads:
            one.join()
        threads.clear()
        while status != "I":
            status = session.ask("ROLLBACK")[2]
    for one in wrong[:5]:
        print("# %s" % (one,), file=out)
    print("%sok 1 - %d transactions with a cancel each: %d hit a statement, and no other transaction failed" %
          ("not " if wrong else "", options.times, cancelled), file=out)


if __name__ == "__main__":
    main()
