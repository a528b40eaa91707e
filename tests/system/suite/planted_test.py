"""Two applications' own tests, which pass, though each has a bug that two users at once bring out: a lost update in a Django view at READ
COMMITTED, and write skew below SQLAlchemy at REPEATABLE READ where SERIALIZABLE was meant. MENDED=1: the same without the bugs.
"""
import os
import threading

import pytest

MENDED = bool(os.environ.get("MENDED"))


def at_once(*actions):
    """Runs them in threads of their own."""
    threads = [threading.Thread(target=action) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture(scope="module")
def shop():
    django = pytest.importorskip("django")
    from django.conf import settings

    settings.configure(
        USE_TZ=True,
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.postgresql",
                "NAME": "postgres",
                "USER": "postgres",
                **{key: os.environ["PG" + key] for key in ("HOST", "PORT")},
            }
        },
    )
    django.setup()
    from django.db import connection, models

    class Item(models.Model):
        stock = models.IntegerField()

        class Meta:
            app_label = "shop"

    with connection.schema_editor() as editor:
        editor.create_model(Item)
    yield Item
    with connection.schema_editor() as editor:
        editor.delete_model(Item)


def test_two_buyers(shop):
    from django.db import connection, transaction
    from django.http import HttpResponse
    from django.test import RequestFactory

    have_looked = threading.Barrier(2)

    @transaction.atomic
    def buy(request, key):
        items = shop.objects.select_for_update() if MENDED else shop.objects
        item = items.get(pk=key)
        if not MENDED:
            have_looked.wait()
        item.stock -= 1
        item.save()
        return HttpResponse(str(item.stock))

    def visit():
        assert buy(RequestFactory().post("/buy/1"), 1).status_code == 200
        connection.close()

    for stock in (10, 9, 10):  # which have stood there before
        shop.objects.update_or_create(pk=1, defaults={"stock": stock})
    at_once(visit, visit)
    assert shop.objects.get(pk=1).stock < 10


def test_doctors_on_call():
    sqlalchemy = pytest.importorskip("sqlalchemy")
    from sqlalchemy import exc

    url = "postgresql+psycopg2" + os.environ["DATABASE_URL"][len("postgresql") :]
    engine = sqlalchemy.create_engine(url, isolation_level="SERIALIZABLE" if MENDED else "REPEATABLE READ")
    doctors = sqlalchemy.Table(
        "doctors",
        sqlalchemy.MetaData(),
        sqlalchemy.Column("id", sqlalchemy.Integer, primary_key=True),
        sqlalchemy.Column("on_call", sqlalchemy.Boolean),
    )
    doctors.create(engine)
    with engine.begin() as connection:
        connection.execute(doctors.insert(), [{"id": 1, "on_call": True}, {"id": 2, "on_call": True}])
    have_looked = threading.Barrier(2)

    def leave(doctor):
        try:
            with engine.begin() as connection:
                others = connection.execute(doctors.select().where(doctors.c.id == 3 - doctor)).one()
                have_looked.wait()
                if others.on_call:
                    connection.execute(doctors.update().where(doctors.c.id == doctor).values(on_call=False))
        except exc.OperationalError:
            pass  # SERIALIZABLE refuses one of them

    at_once(lambda: leave(1), lambda: leave(2))
    doctors.drop(engine)
    engine.dispose()
