#!/usr/bin/python3
"""An application that knows nothing of being recorded: application.py PORT DATABASE LEVEL TRANSACTIONS [SESSIONS [SEED]].

Half of its sessions speak psycopg 3, half SQLAlchemy (psycopg 2): accounts by key, orders by condition, sums, joins, cursors, rows that
are not there. Values that are written are no function of what the database holds, so that versions can be told apart.
"""
import random
import sys
import threading
import time

import psycopg
import sqlalchemy
from sqlalchemy import Column, Integer, MetaData, String, Table, and_, func, select

PORT, DATABASE, LEVEL, MANY = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
SESSIONS = int(sys.argv[5]) if len(sys.argv) > 5 else 8
SEED = int(sys.argv[6]) if len(sys.argv) > 6 else 1
ACCOUNTS = 20

metadata = MetaData()
accounts = Table("accounts", metadata, Column("id", Integer, primary_key=True), Column("owner", String), Column("balance", Integer))
orders = Table("orders", metadata, Column("id", Integer, primary_key=True), Column("account", Integer), Column("status", String),
               Column("amount", Integer))
counts = {"committed": 0, "failed": 0}
lock = threading.Lock()


def count(name, many=1):
    with lock:
        counts[name] += many


class Dice(random.Random):
    def __init__(self, session):
        super().__init__(SEED * 1000 + session)
        self.number = session

    def account(self):
        return self.randint(1, ACCOUNTS)

    def value(self):
        self.number += 100
        return self.number

    def order(self):
        return self.value() + 1000000


def psycopg_session(session, many):
    dice = Dice(session)
    level = getattr(psycopg.IsolationLevel, LEVEL.upper().replace(" ", "_"))
    connection = psycopg.connect(host="127.0.0.1", port=PORT, dbname=DATABASE, user="postgres", sslmode="disable")
    connection.isolation_level = level
    done = 0
    while done < many:
        kind = dice.random()
        try:
            with connection.transaction():
                cursor = connection.cursor(binary=dice.random() < 0.5)
                one, other = dice.account(), dice.account()
                cursor.execute("SELECT balance, owner FROM accounts WHERE id = %s", (one,))
                cursor.fetchone()
                if kind < 0.4:
                    cursor.execute("SELECT id, balance FROM accounts WHERE id = %s", (other,))
                    time.sleep(0.0005)
                    cursor.execute("UPDATE accounts SET balance = %s WHERE id = %s", (dice.value(), one))
                    cursor.execute("SELECT balance FROM accounts WHERE id = %s", (one,))
                elif kind < 0.6:
                    cursor.execute("SELECT id, status, amount FROM orders WHERE account = %s AND status IN ('open', 'paid')", (one,))
                    cursor.fetchall()
                    cursor.execute("INSERT INTO orders (id, account, status, amount) VALUES (%s, %s, %s, %s)",
                                   (dice.order(), one, "open", dice.randint(1, 99)))
                elif kind < 0.75:
                    cursor.execute("SELECT count(*), sum(amount) FROM orders WHERE account = %s", (one,))
                    cursor.execute("SELECT o.id, o.amount, a.id, a.balance FROM orders o JOIN accounts a ON a.id = o.account "
                                   "WHERE a.id = %s ORDER BY o.id", (one,))
                elif kind < 0.85:
                    named = connection.cursor(name="c%d" % session)
                    named.itersize = 3
                    named.execute("SELECT id, balance FROM accounts ORDER BY id")
                    for _ in zip(named, range(8)):
                        pass
                    named.close()
                else:
                    cursor.execute("SELECT * FROM accounts WHERE id = %s", (1000 + one,))
                    cursor.execute("SELECT owner FROM accounts WHERE id BETWEEN %s AND %s", (one, one + 3))
                    cursor.execute("UPDATE orders SET status = 'paid' WHERE account = %s AND status = 'open'", (other,))
            count("committed")
            done += 1
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
            count("failed")
    connection.close()


def alchemy_session(session, many):
    dice = Dice(session)
    engine = sqlalchemy.create_engine("postgresql+psycopg2://postgres@127.0.0.1:%d/%s?sslmode=disable" % (PORT, DATABASE),
                                      isolation_level=LEVEL.upper(), pool_size=1)
    done = 0
    while done < many:
        kind = dice.random()
        one, other = dice.account(), dice.account()
        try:
            with engine.begin() as connection:
                connection.execute(select(accounts).where(accounts.c.id == one)).fetchone()
                if kind < 0.5:
                    connection.execute(select(accounts.c.id, accounts.c.balance).where(accounts.c.id.in_([one, other]))).fetchall()
                    time.sleep(0.0005)
                    connection.execute(accounts.update().where(accounts.c.id == one).values(balance=dice.value()))
                elif kind < 0.75:
                    condition = and_(orders.c.account == one, orders.c.amount > 20)
                    connection.execute(select(orders).where(condition)).fetchall()
                    connection.execute(select(func.count(), func.sum(orders.c.amount)).where(condition)).fetchall()
                    connection.execute(orders.insert().values(id=dice.order(), account=one, status="open", amount=dice.randint(1, 99)))
                else:
                    connection.execute(select(orders.c.id, orders.c.amount).where(orders.c.account == other).order_by(orders.c.id)
                                       .limit(5)).fetchall()
                    connection.execute(orders.delete().where(and_(orders.c.account == other, orders.c.status == "paid")))
            count("committed")
            done += 1
        except sqlalchemy.exc.DBAPIError as failure:
            if getattr(failure.orig, "pgcode", "") not in ("40001", "40P01"):
                raise
            count("failed")
    engine.dispose()


threads = [threading.Thread(target=alchemy_session if i % 2 else psycopg_session, args=(i, MANY // SESSIONS)) for i in range(SESSIONS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(" ".join("%s %d" % item for item in counts.items()))
