"""What all tables hold at one moment of one session, by one question that the server answers there.

The question is a function of PL/pgSQL, so that no setting of the session and no object of its own changes what it says. A state whose
snapshot is known already, in a transaction that wrote nothing, is not asked for again: it is the same.
"""
import json

# Types whose text hangs on settings are printed as these say.
PINNED = """SET search_path = pg_catalog SET timezone = 'UTC' SET datestyle = 'ISO, YMD' SET intervalstyle = 'postgres'
  SET extra_float_digits = 1 SET bytea_output = 'hex' SET xmlbinary = base64 SET statement_timeout = 0 SET lc_monetary = 'C'
  SET jit = off"""


def escaped(column, *more):
    """An expression for a part of a table's name as records have it."""
    for one in ("%", "/", ",", "#", *more):
        column = "replace(%s, '%s', '%%%02X')" % (column, one, ord(one))
    return column


# The tables: relations with rows of their own, and partitioned ones in place of their partitions.
LAYOUT = r"""
SELECT coalesce(json_object_agg(name, layout), '{}') FROM (SELECT """ + escaped("n.nspname", ".") + " || '.' || " + escaped("c.relname") + r""" AS name, json_build_object(
    'key', (SELECT json_agg(a.attname ORDER BY k.place) FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY k(number, place),
        pg_attribute a WHERE i.indrelid = c.oid AND i.indisprimary AND k.place <= i.indnkeyatts AND a.attrelid = c.oid
        AND a.attnum = k.number),
    'columns', json_agg(a.attname ORDER BY a.attnum),
    'types', json_agg(format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END, CASE WHEN t.typtype = 'd' THEN t.typtypmod
        ELSE a.atttypmod END) ORDER BY a.attnum),
    'kind', CASE WHEN c.relpersistence <> 'p' THEN 'unlogged' WHEN EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid) THEN c.relkind::text
        ELSE 'r' END,
    'rows', format('SELECT json_agg(json_build_array(t.tableoid || ''.'' || t.ctid, t.xmin::text, %s))::text FROM %s%I.%I t',
        string_agg(format('CASE num_nulls(t.%1$I) WHEN 0 THEN format(''%%s'', t.%1$I) END', a.attname), ', ' ORDER BY a.attnum),
        CASE WHEN c.relkind = 'r' THEN 'ONLY ' ELSE '' END, n.nspname, c.relname)) AS layout
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
    AND NOT a.attisdropped JOIN pg_type t ON t.oid = a.atttypid
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND pg_relation_size(c.oid) <= 65536 AND c.relpersistence <> 't' AND n.nspname NOT LIKE 'pg\_%'
    AND n.nspname NOT IN ('information_schema', 'reread')
GROUP BY c.oid, n.nspname, c.relname, c.relkind, c.relpersistence) tables"""

# What the layout is made of, and what else DDL changes, as a number; without what is temporary.
SHAPE = r"""
WITH n AS (SELECT oid FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%' AND nspname NOT IN ('information_schema', 'reread')),
  c AS (SELECT c.* FROM pg_class c JOIN n ON n.oid = relnamespace)
SELECT sum(hashtext(t))::text FROM (
  SELECT concat_ws('.', 'c', oid, relname, relnamespace, relkind, relhassubclass, relispartition, relpersistence, relrowsecurity) AS t FROM c
  UNION ALL SELECT concat_ws('.', 'a', attrelid, attnum, attname, atttypid, atttypmod, a.xmin) FROM pg_attribute a JOIN c ON c.oid = attrelid
  UNION ALL SELECT concat_ws('.', 'k', k.oid, k.xmin) FROM pg_constraint k JOIN n ON n.oid = connamespace
  UNION ALL SELECT concat_ws('.', 't', t.oid, t.xmin) FROM pg_trigger t JOIN c ON c.oid = tgrelid
  UNION ALL SELECT concat_ws('.', 'l', l.oid, l.xmin) FROM pg_policy l JOIN c ON c.oid = polrelid
  UNION ALL SELECT concat_ws('.', 'w', w.oid, w.xmin) FROM pg_rewrite w JOIN c ON c.oid = ev_class
  UNION ALL SELECT concat_ws('.', 'd', d.oid, d.xmin) FROM pg_attrdef d JOIN c ON c.oid = adrelid
  UNION ALL SELECT concat_ws('.', 'f', f.oid, f.xmin) FROM pg_proc f JOIN n ON n.oid = pronamespace
  UNION ALL SELECT concat_ws('.', 's', oid, xmin) FROM pg_cast WHERE oid >= 16384
  UNION ALL SELECT concat_ws('.', 'n', oid) FROM n
  UNION ALL SELECT concat_ws('.', 'r', setdatabase, setrole, xmin) FROM pg_db_role_setting) all_of"""

SETUP = """
CREATE SCHEMA IF NOT EXISTS reread;
GRANT USAGE ON SCHEMA reread TO PUBLIC;
CREATE OR REPLACE FUNCTION reread.now() RETURNS text LANGUAGE plpgsql SECURITY DEFINER %s AS $f$
DECLARE all_of json; one text; query text; part text; listed text := '';
BEGIN
  all_of := (%s);
  FOR one, query IN SELECT key, value ->> 'rows' FROM json_each(all_of) LOOP
    EXECUTE query INTO part;
    listed := listed || CASE WHEN listed = '' THEN '' ELSE ',' END || to_json(one) || ':' || coalesce(part, '[]');
  END LOOP;
  RETURN '{"layout":' || all_of || ',"rows":{' || listed || '}}';
END $f$;
CREATE OR REPLACE FUNCTION reread.shape() RETURNS text LANGUAGE plpgsql SECURITY DEFINER %s AS $f$ BEGIN RETURN (%s); END $f$;
CREATE OR REPLACE FUNCTION reread.asked(text, text) RETURNS bytea LANGUAGE plpgsql AS $f$
DECLARE xid text := pg_catalog.pg_current_xact_id_if_assigned()::pg_catalog.text; rows text := '';
  shot text := pg_catalog.pg_current_snapshot()::pg_catalog.text;
BEGIN
  IF xid IS NOT NULL OR $1 IS NULL OR shot OPERATOR(pg_catalog.<>) $1 THEN
    rows := CASE WHEN $2 IS NOT NULL AND reread.shape() OPERATOR(pg_catalog.<>) $2 THEN reread.now() ELSE reread.quick() END;
  END IF;
  RETURN pg_catalog.convert_to(pg_catalog.concat_ws(' ', shot, coalesce(xid, '-'), pg_catalog.replace(
    pg_catalog.current_setting('transaction_isolation'), ' ', '_'), rows), 'UTF8');
END $f$;
""" % (PINNED, LAYOUT, PINNED, SHAPE)


def install(side):
    side.ask(SETUP)
    return refresh(side)


def refresh(side):
    """The quick way, for the tables as they are now; gives their layout, and its number."""
    layout = json.loads(side.ask(LAYOUT)[0][0])
    parts = " || ',' || ".join(
        "'%s:' || coalesce((%s), '[]')" % (json.dumps(name, ensure_ascii=False).replace("'", "''"),
                                           one["rows"])
        for name, one in layout.items())
    side.ask("CREATE OR REPLACE FUNCTION reread.quick() RETURNS text LANGUAGE plpgsql SECURITY DEFINER %s AS $quick$ BEGIN "
             "RETURN '{\"rows\":{' || %s || '}}'; END $quick$" % (PINNED, parts or "''"))
    return layout, side.ask("SELECT reread.shape()")[0][0]


def encode(part):
    return part.replace("%", "%25").replace("/", "%2F").replace(",", "%2C").replace("#", "%23")


def name_of(schema, table):
    return encode(schema).replace(".", "%2E") + "." + encode(table)


def decode(part):
    return part.replace("%2C", ",").replace("%2F", "/").replace("%23", "#").replace("%2E", ".").replace("%25", "%")


class Table:
    """`rows`: by key as a record has it, the row's version, who made it, and its cells."""
    __slots__ = ("name", "key", "columns", "types", "kind", "rows", "given", "answers")

    def __init__(self, name, layout, given):
        self.name, self.key, self.columns = name, layout["key"] or [], layout["columns"]
        self.types, self.kind = dict(zip(self.columns, layout["types"])), layout["kind"]
        self.answers, self.given, self.rows = {}, given, {}
        places = [self.columns.index(k) + 2 for k in self.key]
        for one in given:
            key = ",".join(encode(one[p] or "") for p in places) if places else one[0]
            self.rows[key] = (one[0], int(one[1]), dict(zip(self.columns, one[2:])))


class State:
    """One answer; tables are made of it when somebody asks."""
    __slots__ = ("text", "parsed", "tables", "layout")

    def __init__(self, text, layout):
        self.text, self.parsed, self.tables, self.layout = text, None, {}, layout

    def table(self, name):
        if self.parsed is None:
            self.parsed = json.loads(self.text)
            self.layout = self.parsed.get("layout", self.layout)
        if name not in self.tables:
            rows = self.parsed["rows"].get(name)
            self.tables[name] = None if rows is None else Table(name, self.layout[name], rows)
        return self.tables[name]
