#!/usr/bin/env python3
"""Statements for one of two sessions that define tables anew, write them and read them, at random: definitions.py SEED SESSION."""
import random
import sys

seed, session = int(sys.argv[1]), int(sys.argv[2])
draw = random.Random(seed * 2 + session)
print("SET lock_timeout = '2s';")
tables = ["one", "two", "old"]
for _ in range(25):
    table, other, key = draw.choice(tables), draw.choice(tables), draw.randrange(1, 4)
    statement = draw.choice([
        f"CREATE TABLE IF NOT EXISTS {table} (id int PRIMARY KEY, v text)",
        f"DROP TABLE IF EXISTS {table}",
        f"ALTER TABLE IF EXISTS {table} RENAME TO {other}",
        f"ALTER TABLE {table} ALTER v TYPE text USING v || '!'",
        f"ALTER TABLE {table} ADD COLUMN w{draw.randrange(2)} int NOT NULL DEFAULT 7",
        f"ALTER TABLE {table} DROP COLUMN w{draw.randrange(2)}",
        f"TRUNCATE {table}",
        f"BEGIN; DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (id int PRIMARY KEY, v text); INSERT INTO {table} VALUES (1, 'new'); COMMIT",
        f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (id int, v text); INSERT INTO {table} SELECT g, 'k' FROM generate_series(1, 3) g; "
        f"ALTER TABLE {table} ADD PRIMARY KEY (id)",
        f"CREATE TABLE IF NOT EXISTS {table} (id int, v text)",
        f"ALTER TABLE {table} ADD PRIMARY KEY (id)",
        f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey",
        f"INSERT INTO {table} VALUES ({key}, 'p{session}')",
    ] + [
        f"INSERT INTO {table} VALUES ({key}, 's{session}') ON CONFLICT (id) DO UPDATE SET v = excluded.v || 'c'",
        f"UPDATE {table} SET v = v || 'u' WHERE id = {key}",
        f"DELETE FROM {table} WHERE id = {key}",
    ] * 2)
    print(statement + ";")
    if draw.random() < 0.3:
        print(f"SELECT pg_sleep({draw.random() / 20:.3f});")
    level = draw.choice(["READ COMMITTED", "REPEATABLE READ"])
    print(f"BEGIN ISOLATION LEVEL {level};")
    if draw.random() < 0.2:
        print(f"SELECT count(*) FROM {draw.choice(tables)};\nSELECT pg_sleep({draw.random() / 10:.3f});")
    for _ in range(draw.randrange(1, 3)):
        print(draw.choice([f"SELECT * FROM {draw.choice(tables)} WHERE id = {key};", f"SELECT * FROM {draw.choice(tables)};",
                           f"SELECT count(*) FROM {draw.choice(tables)} WHERE v = 's1';"]))
    print("COMMIT;")
