"""Tests of pytest-xdist, each worker with a database of its own."""
import os
import time

import psycopg2
import pytest


@pytest.fixture(scope="session")
def database(worker_id):
    url, name = os.environ["DATABASE_URL"], f"test_{worker_id}"
    base = psycopg2.connect(url)
    base.autocommit = True
    base.cursor().execute(f"CREATE DATABASE {name}")
    own = psycopg2.connect(url, dbname=name)
    with own, own.cursor() as cursor:
        cursor.execute("CREATE TABLE item (id int PRIMARY KEY, stock int)")
        cursor.execute("INSERT INTO item SELECT g, 10 FROM generate_series(1, 20) g")
    yield own
    own.close()
    time.sleep(0.5)  # what a session read last is sure only then
    base.cursor().execute(f"DROP DATABASE {name}")
    base.close()


@pytest.mark.parametrize("item", range(1, 21))
def test_takes_one(database, item):
    with database, database.cursor() as cursor:
        cursor.execute("SELECT stock FROM item WHERE id = %s", [item])
        stock = cursor.fetchone()[0]
        cursor.execute("UPDATE item SET stock = %s WHERE id = %s", [stock - 1, item])
    with database, database.cursor() as cursor:
        cursor.execute("SELECT stock FROM item WHERE id = %s", [item])
        assert cursor.fetchone()[0] == stock - 1
