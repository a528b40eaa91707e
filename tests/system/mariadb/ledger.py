#!/usr/bin/python3
"""The ledger on MariaDB: entries of accounts, asked for by condition, by range and in sums; each column is judged by itself.

    ledger.py --port PORT --database NAME --create
    ledger.py --port PORT --database NAME [option...]     the options of application.py, and as there a record a line on stdout

Ids are never used again. Every second write of a row leaves its cells to the change stream.
Amounts are many, so that two entries seldom share the greatest: then it is not known which of them a max has read.
"""
import sys

import application

ACCOUNTS, PER_ACCOUNT, SPAN, AMOUNTS = 20, 5, 30, 1_000_000
TABLES = """
CREATE TABLE entries (id INT AUTO_INCREMENT PRIMARY KEY, account INT NOT NULL, amount BIGINT, fee DECIMAL(12,2),
    status VARCHAR(10) COLLATE utf8mb4_bin DEFAULT 'open', note TEXT COLLATE utf8mb4_bin, KEY (account));
CREATE TABLE tx_marker (client INT PRIMARY KEY, tid VARCHAR(64));
CREATE TABLE drain (k INT PRIMARY KEY, v BIGINT)
"""


def fill(cursor):
    for statement in TABLES.split(";"):
        cursor.execute(statement)
    cursor.executemany("INSERT INTO entries (account, amount, fee) VALUES (%s, %s, %s)",
                       [(1 + i % ACCOUNTS, i, f"{i}.5") for i in range(ACCOUNTS * PER_ACCOUNT)])
    cursor.execute("INSERT INTO tx_marker VALUES (0, '')")


def spell(value):
    return value if value is None or isinstance(value, int) else str(value)


def cells(names, row):
    return {name: spell(value) for name, value in zip(names, row)}


class Ledger(application.Session):
    def table(self):
        return f"{self.options.database}.entries"

    def ask(self, transaction, statement, *values):
        transaction.cursor.execute(statement, values)
        return transaction.cursor.fetchall()

    def tell(self, transaction, operation):
        """At SERIALIZABLE InnoDB locks what it reads."""
        if self.options.isolation == "SERIALIZABLE" and operation["t"] in "qr":
            operation["lock"] = True
        transaction.operations.append(operation)

    # ---- questions ----

    def rows(self, transaction, names, where, query):
        """A query that returns rows; `query`: how its record says `where`."""
        found = self.ask(transaction, f"SELECT id, {', '.join(names)} FROM entries WHERE {where}")
        self.tell(transaction, {"t": "q", "table": self.table(), **query, "rows": {str(row[0]): cells(names, row[1:]) for row in found}})
        return found

    def find_entries(self, transaction, account):
        where = f"account = {account} and amount >= 0"
        return self.rows(transaction, ("amount", "status"), where, {"where": where})

    def list_range(self, transaction):
        first = self.chance.randrange(ACCOUNTS * PER_ACCOUNT)
        self.rows(transaction, ("account", "note", "fee"), f"id BETWEEN {first} AND {first + SPAN}",
                  {"from": str(first), "to": str(first + SPAN)})

    def list_newest(self, transaction):
        self.rows(transaction, ("amount",), "status = 'open' ORDER BY id DESC LIMIT 5", {"where": "status = 'open'", "partial": True})

    def sum_up(self, transaction, account):
        names = ("count", "sum(amount)", "max(amount)", "sum(fee)", "min(fee)")
        found = self.ask(transaction, "SELECT count(*), sum(amount), max(amount), sum(fee), min(fee) FROM entries WHERE account = %s", account)
        self.tell(transaction, {"t": "q", "table": self.table(), "where": f"account = {account}", "agg": cells(names, found[0])})

    def look_up(self, transaction):
        names = ("account", "amount", "fee", "note")
        key = 1 + self.chance.randrange(ACCOUNTS * PER_ACCOUNT)
        found = self.ask(transaction, f"SELECT {', '.join(names)} FROM entries WHERE id = %s", key)
        said = {"cells": cells(names, found[0])} if found else {"v": None}
        self.tell(transaction, {"t": "r", "row": f"{self.table()}/{key}", **said})

    # ---- changes ----

    def tell_written(self, transaction, key, written):
        """Before the statement: if it fails, so does the transaction."""
        transaction.wrote = True
        self.told = getattr(self, "told", 0) + 1
        said = {"cells": written} if written and self.told % 2 else {}
        self.tell(transaction, {"t": "w", "row": f"{self.table()}/{key}", **said})

    def add_entry(self, transaction, account):
        note = self.chance.choice(["n1", "n2", None])
        amount, fee = self.chance.randrange(AMOUNTS), f"{self.chance.randrange(AMOUNTS)}.{self.chance.randrange(10)}"
        transaction.cursor.execute("INSERT INTO entries (account, amount, fee, note) VALUES (%s, %s, %s, %s)", (account, amount, fee, note))
        self.tell_written(transaction, transaction.cursor.lastrowid,
                          {"account": account, "amount": amount, "fee": fee, "status": "open", "note": note})

    def remove_entry(self, transaction, key):
        if transaction.cursor.execute("DELETE FROM entries WHERE id = %s", (key,)):
            transaction.wrote = True
            self.tell(transaction, {"t": "d", "row": f"{self.table()}/{key}"})

    def change_entry(self, transaction, key):
        if self.chance.random() < 0.4:
            account = 1 + self.chance.randrange(ACCOUNTS)
            if transaction.cursor.execute("UPDATE entries SET account = %s WHERE id = %s", (account, key)):
                self.tell_written(transaction, key, {"account": account})
        elif transaction.cursor.execute("UPDATE entries SET amount = amount + 1, fee = fee + 0.25, status = IF(status = 'open', 'paid', 'open') "
                                        "WHERE id = %s", (key,)):
            self.tell_written(transaction, key, None)

    def change_entries(self, transaction, account):
        """One of the account's entries changes, goes, or moves to another account, or there is a new one."""
        found = self.find_entries(transaction, account)
        lot = self.chance.random()
        if not found or lot < 0.3:
            self.add_entry(transaction, account)
        elif lot < 0.5 and len(found) > 2:
            self.remove_entry(transaction, self.chance.choice(found)[0])
        else:
            self.change_entry(transaction, self.chance.choice(found)[0])

    def audit(self, transaction, account):
        self.sum_up(transaction, account)
        self.find_entries(transaction, account)
        self.sum_up(transaction, account)

    def work(self, transaction):
        account = 1 + self.chance.randrange(ACCOUNTS)
        lot = self.chance.randrange(10)
        if lot < 6:
            self.change_entries(transaction, account)
        if lot < 8 and lot % 2:
            self.audit(transaction, account)
        else:
            for step in (self.list_range, self.look_up, self.list_newest, self.look_up):
                step(transaction)


if __name__ == "__main__":
    sys.exit(application.main(Ledger, fill))
