"""pytest-xdist: each worker makes a database of its own, as test suites do, and drops it at the end."""
import os

import psycopg
import pytest


@pytest.fixture(scope="session")
def own(worker_id):
    name, server = "test_" + worker_id, os.environ["DATABASE_URL"]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    yield server.rpartition("/")[0] + "/" + name
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.mark.parametrize("number", range(20))
def test_a_row_is_read_again(own, number):
    with psycopg.connect(own) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS item (id int PRIMARY KEY, stock int)")
        connection.commit()
        connection.execute("INSERT INTO item VALUES (%s, 1)", (number,))
        connection.commit()
        assert connection.execute("SELECT stock FROM item WHERE id = %s", (number,)).fetchone() == (1,)
