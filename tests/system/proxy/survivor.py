#!/usr/bin/python3
"""An application that goes on whatever happens: survivor.py PORT DATABASE SESSIONS NUMBER STOP-FILE.

Each transaction reads two accounts and writes one, at REPEATABLE READ, a value that nobody else writes; what was lost is connected again.
Until STOP-FILE is there. Prints JSON: what was acknowledged (acked), errors by their class and SQLSTATE, and those of what was not what an
application may see of a database that went away (strange)."""
import json
import os
import random
import sys
import threading
import time

import psycopg

PORT, DATABASE, SESSIONS, NUMBER, STOP = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
lock = threading.Lock()
acked, errors, strange = [], {}, []


def connect():
    connection = psycopg.connect(host="127.0.0.1", port=PORT, dbname=DATABASE, user="postgres", sslmode="disable", connect_timeout=10)
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    return connection


def transact(connection, dice, value):
    with connection.transaction():
        one, other = dice.randint(1, 20), dice.randint(1, 20)
        wrong = [row for row in (connection.execute("SELECT id, balance FROM accounts WHERE id = %s", (key,)).fetchone() for key in (one, other))
                 if not row or row[0] not in (one, other)]
        connection.execute("UPDATE accounts SET balance = %s WHERE id = %s", (value, one))
    if wrong:
        strange.append("read %s" % wrong)


def note(failure):
    name = "%s %s" % (type(failure).__name__, getattr(failure, "sqlstate", None))
    with lock:
        errors[name] = errors.get(name, 0) + 1
        if not isinstance(failure, psycopg.OperationalError):
            strange.append("%s: %s" % (name, failure))


def session(number):
    dice, connection, value = random.Random(NUMBER + number), None, (NUMBER + number) * 1000000
    while not os.path.exists(STOP):
        try:
            connection = connection or connect()
            value += 1
            transact(connection, dice, value)
            with lock:
                acked.append(value)
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
            pass
        except psycopg.Error as failure:
            note(failure)
            if not connection or connection.broken or connection.closed:
                connection = None
                time.sleep(0.1)
    if connection:
        connection.close()


threads = [threading.Thread(target=session, args=(i,)) for i in range(SESSIONS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({"acked": acked, "errors": errors, "strange": strange[:5]}))
