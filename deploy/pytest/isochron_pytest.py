"""pytest plugin: `isochron run` then names the test of each transaction that it shows.

    PYTHONPATH=deploy/pytest isochron run URL -- pytest -p isochron_pytest

Statements of SQLAlchemy and Django get a comment with the test's name. What connects by libpq in a test (psycopg, psycopg2)
has its last 63 letters as application_name. No statement more is sent, and nothing is imported that the tests did not import.
"""
import os
import sys


def test_name():
    """Without what pytest adds (" (call)"), and without what would end a comment or be a placeholder."""
    name = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    return name.replace("%", "_").replace("*/", "_").replace("?", "_")


def with_comment(sql):
    name = test_name()
    return f"{sql} /* test: {name} */" if name and isinstance(sql, str) else sql


def name_sqlalchemy(event, engine):
    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def before(connection, cursor, statement, parameters, context, executemany):
        return with_comment(statement), parameters


def name_django(connection_created):
    def wrap(execute, sql, params, many, context):
        return execute(with_comment(sql), params, many, context)

    def created(connection, **_):
        if wrap not in connection.execute_wrappers:
            connection.execute_wrappers.append(wrap)

    connection_created.connect(created, weak=False)


def pytest_collection_finish(session):
    if "sqlalchemy" in sys.modules:
        from sqlalchemy import engine, event

        name_sqlalchemy(event, engine.Engine)
    if "django.db" in sys.modules:
        from django.db import connections
        from django.db.backends.signals import connection_created

        name_django(connection_created)
        for connection in connections.all(initialized_only=True):
            connection_created.send(sender=connection.__class__, connection=connection)


def pytest_runtest_logstart(nodeid, location):
    os.environ["PGAPPNAME"] = nodeid[-63:]
