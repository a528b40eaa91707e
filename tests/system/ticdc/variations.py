#!/usr/bin/env python3
"""Streams of TiDB that the captures of its encoders do not have: a folder each under OUTPUT, with
capture.jsonl. On stdout a line each, as cases.tsv has them: none of those made here may be violated
but where a client lies, and the captures with a table of one column beside the key give the same verdict where that is a cell.

    variations.py OUTPUT
"""
import base64
import json
import os
import re
import shutil
import struct
import sys

START = 447984099187490720
END = START + 1000
FIND = {}


class Stream:
    def __init__(self):
        self.messages, self.records, self.partition = [], 0, 0

    def put(self, topic, payload, key=None):
        def plain(data):
            return {"base64": base64.b64encode(data).decode()} if isinstance(data, bytes) else data

        partition = self.partition if topic == "shop" else 0
        offset = sum((message["topic"], message["partition"]) == (topic, partition)
                     for message in self.messages)
        self.messages.append({"topic": topic, "partition": partition, "offset": offset,
                              "tstype": "create", "ts": 1, "broker": 0, "key": plain(key),
                              "payload": plain(payload)})

    def reads(self, at, **values):
        """What a client reads at that time: t_1=5 is the row 1 of table t; a dict is cells."""
        self.records += 1
        ops = []
        for name, value in values.items():
            table, _, row = name.partition("_")
            name = f"shop.{table}/{row.replace('_', ',')}"
            ops.append({"t": "r", "row": name, "cells": value} if isinstance(value, dict)
                       else {"t": "r", "k": name, "v": value})
        self.put("clients", json.dumps({"tid": f"x{self.records}", "sid": f"c{self.records}",
                                        "sts": str(START + at), "ops": ops}))


class Canal(Stream):
    format = "canal-json"

    def row(self, at, kind, now, old=None, table="t", keys=("id",), types=None, **more):
        kinds = {name: (types or {}).get(name, "int") for name in now}
        self.put("shop", json.dumps({
            "id": 0, "database": "shop", "table": table, "pkNames": keys, "isDdl": False,
            "type": kind, "sql": "", "mysqlType": kinds, "old": [old] if old else None,
            "data": [now], "_tidb": {"commitTs": START + at, **more}}))

    def ddl(self, at, kind, sql, table="t"):
        self.put("shop", json.dumps({
            "id": 0, "database": "shop", "table": table, "pkNames": None, "isDdl": True,
            "type": kind, "sql": sql, "mysqlType": None, "data": None, "old": None,
            "_tidb": {"commitTs": START + at}}))

    def end(self):
        for self.partition in range(2):
            self.put("shop", json.dumps({"isDdl": False, "type": "TIDB_WATERMARK",
                                         "_tidb": {"watermarkTs": END}}))


class Debezium(Stream):
    format = "debezium"

    def row(self, at, value, **column):
        """The row 1, whose column `v` is said so; `value` is JSON."""
        fields = [{"type": "int32", "optional": False, "field": "id"},
                  {"optional": True, "field": "v", **column}]
        schema = {"type": "struct", "fields": [{"type": "struct", "field": "after",
                                                "fields": fields}]}
        self.put("shop", '{"payload":{"source":{"connector":"TiCDC","db":"shop","table":"t",'
                 f'"commit_ts":{START + at}}},"op":"c","before":null,"after":{{"id":1,"v":{value}}}}},'
                 f'"schema":{json.dumps(schema)}}}', '{"payload":{"id":1}}')

    def end(self):
        self.put("shop", json.dumps({"payload": {"source": {
            "connector": "TiCDC", "commit_ts": END}, "op": "m"}}), '{"payload":{}}')


class Open(Stream):
    format = "open-protocol"

    def row(self, at, value, kind=1):
        key = json.dumps({"ts": START + at, "scm": "shop", "tbl": "t", "t": kind}).encode()
        value = json.dumps(value).encode() if value else b""
        self.put("shop", struct.pack(">Q", len(value)) + value,
                 struct.pack(">QQ", 1, len(key)) + key)

    def end(self):
        self.row(1000, None, 3)


def case(stream, wanted, **options):
    """Makes a case of the function, whose name says what it shows."""
    def add(function):
        FIND[function.__name__] = (stream, wanted, options, function)
        return function
    return add


TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"


def started(s, sql=TABLE):
    s.ddl(1, "CREATE", sql)
    s.row(10, "INSERT", {"id": "1", "v": "1"})


def emptied(sql, kind):
    def add(s):
        started(s)
        s.ddl(20, kind, sql)
        s.reads(30, t_1=None)
        s.row(40, "INSERT", {"id": "1", "v": "3"})
        s.reads(50, t_1=3)
    return add


for number, (sql, kind) in enumerate((("TRUNCATE TABLE SHOP.T", "TRUNCATE"),
                                      ("drop table if exists `Shop`.`T`", "ERASE"),
                                      ("/* a */ DROP SCHEMA SHOP", "QUERY"))):
    FIND[f"names_in_other_letters_{number}"] = (Canal, 0, {"value": "v"}, emptied(sql, kind))


@case(Canal, 0, value="v")
def renames_in_a_chain_at_one_time(s):
    started(s)
    s.ddl(2, "CREATE", TABLE.replace(" t ", " u "), "u")
    s.row(11, "INSERT", {"id": "1", "v": "2"}, table="u")
    s.ddl(20, "RENAME", "RENAME TABLE `shop`.`t` TO `shop`.`w`", "w")
    s.ddl(20, "RENAME", "RENAME TABLE `shop`.`u` TO `shop`.`t`", "t")
    s.ddl(20, "RENAME", "RENAME TABLE `shop`.`w` TO `shop`.`u`", "u")
    s.reads(30, t_1=2, u_1=1)
    s.row(40, "UPDATE", {"id": "1", "v": "5"}, {"id": "1", "v": "2"})
    s.reads(50, t_1=5, u_1=1)


@case(Canal, 3, value="v")
def recovered_by_a_job(s):
    started(s)
    s.ddl(20, "QUERY", "RECOVER TABLE BY JOB 53")
    s.reads(30, t_1=7)


@case(Canal, 3, value="v")
def another_unique_index_names_rows(s):
    s.ddl(1, "CREATE", "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, v INT, UNIQUE KEY u (a, b))")
    s.row(10, "INSERT", {"a": "2", "b": "7", "v": "2"}, keys=None)
    s.ddl(20, "CINDEX", "CREATE UNIQUE INDEX w ON t (b)")
    s.reads(30, t_7=2)
    s.row(40, "UPDATE", {"a": "2", "b": "7", "v": "3"}, {"a": "2", "b": "7", "v": "2"}, keys=None)
    s.reads(50, t_7=3)


@case(Canal, 0, value="v")
def shortest_unique_key_is_the_handle(s):
    s.ddl(1, "CREATE", "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, v INT, "
          "g INT AS (v + 1) VIRTUAL NOT NULL, UNIQUE (g), UNIQUE KEY (b, a), UNIQUE KEY (c))")
    s.row(10, "INSERT", {"a": "1", "b": "2", "c": "3", "v": "5"}, keys=None)
    s.reads(20, t_3=5)
    s.row(30, "DELETE", {"c": "3"}, keys=None)
    s.reads(40, t_3=None)


@case(Canal, 0, value="v", key="A;M")
def key_in_other_letters(s):
    s.row(10, "INSERT", {"m": "1", "a": "2", "v": "5"}, keys=("m", "a"))
    s.reads(20, t_2_1=5)


def of_any_case(s):
    s.ddl(1, "CREATE", "CREATE TABLE t (id VARCHAR(9) PRIMARY KEY, v INT) COLLATE=utf8mb4_general_ci")
    s.row(10, "INSERT", {"id": "Abc", "v": "5"}, types={"id": "varchar"})
    s.reads(20, t_aBC=5)


FIND["key_of_any_case"] = (Canal, 3, {"value": "v"}, of_any_case)
FIND["key_of_any_case_said"] = (Canal, 0, {"value": "v", "collation": "ci"}, of_any_case)


@case(Canal, 0, value="v")
def another_table_without_the_column(s):
    started(s)
    s.row(11, "INSERT", {"id": "1", "w": "5"}, table="u")
    s.reads(20, t_1=1)


@case(Canal, 3, value="v")
def column_that_was_renamed(s):
    started(s)
    s.ddl(20, "ALTER", "ALTER TABLE t RENAME COLUMN v TO w")
    s.row(30, "UPDATE", {"id": "1", "w": "3"}, {"id": "1", "w": "1"})
    s.reads(40, t_1=3)


@case(Canal, 3, cells="true")
def large_rows_of_cells(s):
    started(s)
    s.row(20, "UPDATE", {"id": "1"}, {"id": "1"}, onlyHandleKey=True)
    s.reads(30, t_1={"v": 7})
    s.row(40, "UPDATE", {"id": "1", "v": "9"}, {"id": "1", "v": "7"})
    s.reads(50, t_1={"v": 9})


def read_as(value, found, **column):
    def add(s):
        s.row(10, value, **column)
        s.reads(20, t_1=found)
    return add


DATE, MOMENT = "io.debezium.time.Date", "io.debezium.time.ZonedTimestamp"
for name, wanted, made in (
        ("year_of_two_digits", 3, read_as("17532", "0018-01-01", type="int32", name=DATE)),
        ("zeros_without_the_extension", 3, read_as("null", "0000-00-00", type="int32", name=DATE)),
        ("label_without_the_extension", 0, read_as(
            '"b"', "2", type="string", name="io.debezium.data.Enum", parameters={"allowed": "a,b"})),
        ("default_in_another_zone", 3, read_as(
            '"2019-12-31T16:00:00Z"', None, type="string", name=MOMENT, default="2020-01-01T00:00:00Z")),
        ("default_that_was_rounded", 3, read_as(
            "9007199254740993", None, type="int64", default=9007199254740992)),
        ("binary_default_twice", 3, read_as('"eA==","v":"x"', None, type="string", default="x"))):
    FIND[name] = (Debezium, wanted, {"value": "v"}, made)


@case(Open, 2, value="v")
def columns_without_a_name(s):
    """The new architecture's, with only-output-updated-columns."""
    now = {"id": {"t": 3, "h": True, "f": 11, "v": 1}, "v": {"t": 3, "f": 65, "v": None}}
    s.row(10, {"u": now, "p": {"t": 3, "f": 65, "v": 5}})
    s.reads(20, t_1=None)


@case(Open, 0, value="v")
def year_of_zeros(s):
    s.row(10, {"u": {"id": {"t": 3, "h": True, "f": 11, "v": 1}, "v": {"t": 13, "f": 65, "v": 0}}})
    s.reads(20, t_1="0000")


def of_type(sql, stream, found):
    """A column of a type as the statement has it, and what a client reads of the stream's text."""
    def add(s):
        s.ddl(1, "CREATE", f"CREATE TABLE t (id INT PRIMARY KEY, v {sql})")
        s.row(10, "INSERT", {"id": "1", "v": stream}, types={"v": sql.split("(")[0].lower()})
        s.reads(20, t_1={"v": found})
    return add


LONG = ",".join(f"'m{bit}'" for bit in range(64))
for name, wanted, made in (
        ("decimal_of_65_digits", 0, of_type("DECIMAL(65,30)", "0." + "1" + 29 * "0", "0.1")),
        ("set_of_64_members", 0, of_type(f"SET({LONG})", "9223372036854775809", "m63,m0")),
        ("enum_by_name", 0, of_type("ENUM('a','c,d')", "2", "c,d")),
        ("enum_by_another_name", 1, of_type("ENUM('a','c,d')", "2", "a")),
        ("enum_of_an_error", 0, of_type("ENUM('a')", "0", "")),
        ("bit_of_64", 0, of_type("BIT(64)", "18446744073709551615", 18446744073709551615)),
        ("bit_as_bytes", 3, of_type("BIT(9)", "257", "b'\\x01\\x01'")),
        ("zerofill", 0, of_type("INT(5) ZEROFILL", "7", "00007")),
        ("zero_date_as_null", 3, of_type("DATE", "0000-00-00", None)),
        ("zero_date", 0, of_type("DATETIME", "0000-00-00 00:00:00", "0000-00-00 00:00:00")),
        ("json_of_unusual_numbers", 0, of_type(
            "JSON", '{"a": 1e100, "b": -0.0, "c": 12345678901234567890}',
            '{"c": 12345678901234567890, "a": 1e+100, "b": -0.0}')),
        ("vector", 3, of_type("VECTOR(2)", "[1,2.5]", "[1.0, 2.5]"))):
    FIND[name] = (Canal, wanted, {"cells": "true"}, made)


@case(Canal, 0, cells="true")
def late_row_behind_a_modify_and_a_rename(s):
    """The second partition lags."""
    def statements():
        s.ddl(40, "ALTER", "ALTER TABLE t MODIFY COLUMN v BIGINT")
        s.ddl(50, "RENAME", "RENAME TABLE t TO u", "u")
    for s.partition in range(2):
        s.ddl(1, "CREATE", TABLE)
    s.row(10, "INSERT", {"id": "1", "v": "1"})
    s.row(20, "DELETE", {"id": "1", "v": "1"})
    s.partition = 0
    statements()
    s.reads(60, u_1={})
    s.partition = 1
    s.row(30, "INSERT", {"id": "1", "v": "2"})
    statements()


@case(Canal, 3, value="v")
def labels_in_another_order(s):
    s.ddl(1, "CREATE", "CREATE TABLE t (id INT PRIMARY KEY, v ENUM('a','b'))")
    s.row(10, "INSERT", {"id": "1", "v": "2"}, types={"v": "enum"})
    s.reads(15, t_1="b")
    s.ddl(20, "ALTER", "ALTER TABLE t MODIFY COLUMN v ENUM('b','a')")
    s.row(30, "UPDATE", {"id": "1", "v": "2"}, {"id": "1", "v": "1"}, types={"v": "enum"})
    s.reads(40, t_1="a")


def two_reads_of_a_label(second):
    def add(s):
        s.ddl(1, "CREATE", "CREATE TABLE t (id INT PRIMARY KEY, v ENUM('a','b'))")
        s.row(10, "INSERT", {"id": "1", "v": "2"}, types={"v": "enum"})
        ops = [{"t": "r", "k": "shop.t/1", "v": "b"},
               {"t": "r", "k": "shop.t/1", "v": second, "ots": str(START + 30)}]
        s.put("clients", json.dumps({"tid": "x", "sid": "c", "sts": str(START + 20), "ops": ops}))
    return add


FIND["label_read_twice"] = (Canal, 0, {"value": "v"}, two_reads_of_a_label("b"))
FIND["lie_behind_a_label_by_name"] = (Canal, 3, {"value": "v"}, two_reads_of_a_label("a"))


def index_of_an_expression(s):
    s.ddl(1, "CREATE", "CREATE TABLE t (m INT, z INT, a INT, q INT, v INT, "
          "UNIQUE KEY e ((LOWER(a))), PRIMARY KEY (z, q, a, m))")
    s.row(10, "INSERT", {"m": "1", "z": "2", "a": "3", "q": "4", "v": "5"}, keys=list("mzaq"))
    s.reads(20, t_2_4_3_1=5)


FIND["index_of_an_expression"] = (Canal, 0, {"value": "v"}, index_of_an_expression)

PARTED = TABLE + " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10))"
for number, (wanted, sql) in enumerate((
        (0, "ALTER TABLE t REORGANIZE PARTITION p0 INTO (PARTITION a VALUES LESS THAN (5), "
         "PARTITION b VALUES LESS THAN (10))"),
        (0, "ALTER TABLE t ADD PARTITION (PARTITION p1 VALUES LESS THAN (20))"),
        (3, "ALTER TABLE t TRUNCATE PARTITION p0"), (3, "ALTER TABLE t DROP PARTITION p0"),
        (3, "ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE u"),
        (0, "CREATE OR REPLACE VIEW w AS SELECT * FROM t"), (0, "DROP VIEW w"),
        (0, "CREATE SEQUENCE s"), (0, "ALTER TABLE t ALTER v DROP DEFAULT"),
        (0, "ALTER TABLE t SET TIFLASH REPLICA 1"), (0, "ALTER TABLE t DROP INDEX i"))):
    def altered(s, sql=sql):
        started(s, PARTED)
        s.ddl(20, "ALTER", sql)
        s.reads(30, t_1=1)
        s.row(40, "UPDATE", {"id": "1", "v": "3"}, {"id": "1", "v": "1"})
        s.reads(50, t_1=3)
    FIND[f"statement_{number}"] = (Canal, wanted, {"value": "v"}, altered)


def of_id(number, version):
    return {"schema": "shop", "table": "t", "tableID": number, "version": START + version,
            "columns": [{"name": "id", "dataType": {"mysqlType": "int"}, "nullable": False},
                        {"name": "v", "dataType": {"mysqlType": "int"}, "nullable": True}],
            "indexes": [{"name": "p", "unique": True, "primary": True, "nullable": False,
                         "columns": ["id"]}]}


class Simple(Stream):
    format = "simple"

    def row(self, at, version, value):
        self.send("INSERT", at, database="shop", table="t", schemaVersion=START + version,
                  data={"id": "1", "v": value})

    def send(self, kind, at, **more):
        self.put("shop", json.dumps({"version": 1, "type": kind, "commitTs": START + at, **more}))

    def end(self):
        self.send("WATERMARK", 1000)


@case(Simple, 3, value="v")
def table_of_another_id(s):
    """A filter of the changefeed leaves statements out."""
    s.send("BOOTSTRAP", 0, tableSchema=of_id(104, 1))
    s.row(10, 1, "5")
    s.send("BOOTSTRAP", 0, tableSchema=of_id(105, 20))
    s.reads(30, t_1=None)
    s.row(40, 20, "6")
    s.reads(50, t_1=6)


def as_cells(line):
    """A message of a capture, where rows' one value is the cell v."""
    message = json.loads(line)
    if message["topic"] == "clients":
        record = json.loads(message["payload"])
        for op in record.get("ops", []):
            op["row"] = op.pop("k")
            if op.get("v") is not None:
                op["cells"] = {"v": op.pop("v")}
        message["payload"] = json.dumps(record)
    return json.dumps(message) + "\n"


def of_cells(folder):
    with open(os.path.join(os.path.dirname(__file__), "cases.tsv"), encoding="utf-8") as file:
        cases = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    for name, wanted, source, shows in cases:
        if not re.search("-(bank|keys|swap|unique)[^:]*$", name):
            continue
        other = os.path.join(folder, "cells-" + name)
        shutil.copytree(os.path.join(folder, name), other)
        with open(os.path.join(folder, name, "capture.jsonl"), encoding="utf-8") as lines, \
                open(os.path.join(other, "capture.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(map(as_cells, lines))
        print(os.path.basename(other), wanted, source.replace("value=v", "cells=true"), shows,
              sep="\t")


def main():
    of_cells(sys.argv[1])
    for name, (kind, wanted, options, make) in FIND.items():
        stream = kind()
        make(stream)
        stream.end()
        stream.put("clients", json.dumps({"watermark": str(END)}))
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder)
        with open(os.path.join(folder, "capture.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(message) + "\n" for message in stream.messages)
        source = f"ticdc:shop,format={kind.format}," + ",".join(map("=".join, options.items()))
        print(name, wanted, source, name.replace("_", " "), sep="\t")


main()
