"""Statements at random over schema.sql: those that applications send, and the shapes in which a recorder is easily wrong."""
from steps import Step

# (key, columns): i int, t text, n numeric, b bool, d date, z timestamptz, s timestamp, v varchar, c char(4), u uuid; others have no
# constants of their own kind beside those below.
TABLES = {
    "kv": (["k"], dict(k="i", a="t", b="i")),
    "item": (["id"], dict(id="i", name="t", qty="i", price="n", good="b", day="d", at="z",
                          local="s", code="v", pad="c", ref="u", twice="g")),
    "line": (["orders", "no"], dict(orders="i", no="i", item="i", qty="i", note="t")),
    "shop.item": (["id"], dict(id="i", name="t", qty="i")),
    "shop.word": (["w"], dict(w="t", n="i", owner="u")),
    '"Odd Name"."Tab"': (['"Key"'], {'"Key"': "u", '"va l"': "t", "k": "i"}),
    "including": (["k"], dict(k="i", a="t", b="i")),
    "deferred": (["k"], dict(k="i", a="t", b="i")),
    "second": (["k"], dict(b="i", a="t", k="i", c="i")),
    "backward": (["b", "a"], dict(a="i", b="i", c="t")),
    "varying_key": (["k"], dict(k="v", v="i")),
    "padded_key": (["k"], dict(k="c", v="i")),
    "domain_key": (["k"], dict(k="t", v="i")),
    "numeric_key": (["k"], dict(k="n", v="i")),
    "date_key": (["k"], dict(k="d", v="i")),
    "time_key": (["k"], dict(k="z", v="i")),
    "float_key": (["k"], dict(k="f", v="i")),
    "bool_key": (["k"], dict(k="b", v="i")),
    "enum_key": (["k"], dict(k="m", v="i")),
    "bytes_key": (["k"], dict(k="B", v="i")),
    "keyless": ([], dict(a="i", b="t")),
    "numbered": (["k"], dict(k="i", v="t", w="v")),
    "always": (["k"], dict(k="i", v="t")),
    "serials": (["k"], dict(k="i", v="t", w="i")),
    "parent": (["k"], dict(k="i", a="t")),
    "child": (["k"], dict(k="i", a="t", more="i")),
    "parted": (["region", "k"], dict(region="t", k="i", v="i")),
    "parted_x": (["region", "k"], dict(region="t", k="i", v="i")),
    "unlogged": (["k"], dict(k="i", v="i")),
    "spelled": (["k"], dict(k="i", f="f", r="f", i="I", span="R", days="D", numbers="N", times="T",
                            words="W", raw="B", doc="J", coin="M", t="h", net="e", bits="x")),
    "typed": (["k"], dict(k="i", parts="P", feel="m")),
    "rls": (["k"], dict(k="i", a="t", b="i")),
    "policed": (["k"], dict(k="i", a="t", b="i")),
    "public.pg_class": (["k"], dict(k="i", a="t")),
    "rekeyed": (["k"], dict(k="i", v="i")), "swallowed": (["k"], dict(k="i", v="i")),
          "ruled": (["k"], dict(k="i", v="i")),
    "also": (["k"], dict(k="i", v="i")), "defaulted": (["k"], dict(k="i", v="i")),
          "checked": (["k"], dict(k="i", v="i")),
    "kv_all": ([], dict(k="i", a="t", b="i")), "item_many": ([], dict(id="i", name="t", qty="i")),
          "nested": ([], dict(k="i", a="t")),
    "writing": ([], dict(k="i", a="t")), "writing_nested": ([], dict(k="i", a="t")),
          "instead": ([], dict(k="i", a="t", b="i")),
    "stored": ([], dict(id="i", name="t")),
}
WEIGHTS = {"kv": 14, "item": 9, "line": 6, "shop.item": 4, "shop.word": 4, "second": 3,
           "backward": 3, "parted": 3, "spelled": 3, "rls": 2,
           "writing": .3, "writing_nested": .3,
           "public.pg_class": .3}
NUMBERS = ["0", "1", "1", "2", "2", "3", "4", "5", "7", "10", "20", "30"]
WORDS = ["x", "x", "y", "z", "", "c ", "c", "ab", "shop1", "a,b/c%#", "p1", "c1", "É\\n"]
OTHERS = {
    "n": ["1.5", "3", "'4.50'", "7.500", "2.5", "1"], "b": ["true", "false", "'t'", "'yes'", "'0'"],
          "g": ["2", "4"],
    "d": ["'2024-01-02'", "date '2024-01-01'", "'2024-1-1'", "'2024-01-02 10:00'", "'today'",
          "'01.02.2024'", "'01/02/2024'"],
    "z": ["'2024-01-01 01:00+00'", "'2024-01-01 01:00'", "now()", "'2024-01-01 00:00Z'",
          "'2024-01-01'", "timestamptz '2024-01-01 02:00+02'"],
    "s": ["'2024-01-01 00:00'", "'2024-01-02'", "timestamp '2024-01-02'", "'2024-01-01 00:00+05'",
          "localtimestamp"],
    "u": ["'00000000-0000-0000-0000-000000000001'", "'{00000000-0000-0000-0000-000000000002}'",
          "'00000000000000000000000000000003'"],
    "f": ["0.5", "2", "'0.1234567890123456'", "'NaN'", "1e0"], "m": ["'sad'", "'ok'", "'glad'"],
          "B": ["'\\x01'", "'\\xff'", "'a'"],
    "I": ["'1 day'", "interval '2 hours'"], "R": ["'[2024-01-01 00:00+00,)'", "'empty'"],
          "D": ["'[2024-01-01,2024-01-05]'"],
    "N": ["'[1,3]'", "'[1,4)'"], "T": ["'{2024-01-01 00:00+00}'"], "W": ["'{x,y}'", "array['x']"],
          "P": ["ROW(1, NULL)::pair", "NULL"],
    "J": ["'{\"a\": 1}'", "'{\"a\":1.0}'"], "M": ["12.5::money", "'$3'"],
          "h": ["'10:00'", "time '11:00'"], "e": ["'10.0.0.1'", "'10/8'"],
    "x": ["B'0101'", "'1111'"],
}
ARRAYS = {"i": ["int", "int8", "numeric"], "n": ["numeric", "int"], "t": ["text", "varchar", "varchar(1)"],
          "v": ["text", "varchar"], "d": ["date"], "s": ["timestamp", "date"], "z": ["timestamptz"]}
CASTS = {  # of a column of that kind
    "n": ["%s::int = 2", "%s::bigint > 2", "%s::float8 = 1.5", "CAST(%s AS numeric) = 3",
          "%s::numeric(4, 1) = 1.5", "%s::float8::int = 4", "%s::float8 < '7.5'", "%s::real = 1.5",
          "%s::int BETWEEN 2 AND 5", "%s::numeric(3) = 2", "%s::float8::numeric(5,0) > 1"],
    "d": ["%s < timestamp '2024-01-02 10:00'", "%s::timestamp = '2024-01-02'",
          "%s IN (timestamp '2024-01-02 00:00', date '2024-01-01')", "%s::timestamptz = '2024-01-02'",
          "%s::text = '2024-01-02'", "%s IN ('2024-01-02 10:00', timestamp '2024-01-02 10:00')"],
    "s": ["%s::date = '2024-01-01'", "%s::time = '00:00'", "%s > date '2024-01-01'",
          "%s::date::timestamp <= '2024-01-01'", "%s::timestamptz > '2024-01-01'",
          "%s::date IN ('2024-01-01', '2024-01-02 10:00')", "%s::time < time '10:00'"],
    "z": ["%s::date = '2024-01-01'", "%s > '2024-01-01 01:00+02'", "%s > date '2024-01-01'",
          "%s <= timestamptz '2024-01-01 01:00'", "%s::timestamp = '2024-01-01 01:00'"],
    "f": ["%s::int = 2", "%s::numeric = 0.5"],
}
COMPARED = ["="] * 6 + ["<", ">", "<=", ">=", "<>"]
SETTINGS = ["search_path = shop, public", "search_path = other, pg_catalog, public",
            "TimeZone = 'Asia/Tokyo'", "IntervalStyle = iso_8601",
            "standard_conforming_strings = off", "extra_float_digits = -10", "DateStyle = 'German'",
            "DateStyle = 'SQL, DMY'",
            "bytea_output = escape", "client_encoding = LATIN1", "row_security = off",
            "transform_null_equals = on", "lc_monetary = 'C'"]
STARTUPS = [{"TimeZone": "UTC"}] * 8 + [
    {"TimeZone": "America/Lima"}, {"DateStyle": "German"}, {"IntervalStyle": "sql_standard"},
                                        {"extra_float_digits": "-5"},
    {"bytea_output": "escape"}, {"search_path": "shop, public"},
                                        {"options": "-c standard_conforming_strings=off"},
    {"client_encoding": "LATIN1"}, {"default_transaction_isolation": "repeatable read"},
                                        {"user": "reread_plain"},
    {"options": "-c search_path=other,pg_catalog,public"}]


class Column:
    """What a FROM clause offers: how it is named, bare, of which kind, whether it is in the key."""
    __slots__ = ("ref", "bare", "kind", "key")

    def __init__(self, ref, bare, kind, key=False):
        self.ref, self.bare, self.kind, self.key = ref, bare, kind, key


MILD = .12  # how much rarer oddities are in a transaction: what is plain is to be recorded, and then judged
PLAIN = ["kv"] * 5 + ["item"] * 4 + ["line"] * 3 + ["shop.item"] * 2 + ["shop.word"] * 2 + ["second", "backward", "spelled", "spelled", "numbered", "parted",
         "domain_key", "varying_key", "serials", '"Odd Name"."Tab"', "rls", "deferred", "including"]


class Statements:
    def __init__(self, rng):
        self.rng, self.values, self.types, self.oddity = rng, None, None, 1

    def chance(self, share):
        return self.rng.random() < share

    def odd(self, share):
        return self.rng.random() < share * self.oddity

    def roll(self, plain):
        """In [0, 1); what is not below `plain` is odd."""
        roll = self.rng.random()
        return roll * plain if roll >= plain and self.rng.random() >= self.oddity else roll

    def pick(self, among):
        return self.rng.choice(among)

    def table(self):
        if self.rng.random() >= self.oddity:
            return self.pick(PLAIN)
        return self.rng.choices(list(TABLES), [WEIGHTS.get(n, 1) for n in TABLES])[0]

    # ---- expressions

    def constant(self, kind):
        if self.chance(.03):
            return "NULL"
        if kind == "i":
            plain = self.pick(NUMBERS)
            if self.values is not None and self.chance(.5):
                return self.parameter(plain, 23)
            if not self.odd(.2):
                return plain
            return self.pick(["'%s'", "%s::int8", "%s::numeric", "-%s", "'%s'::int", "+%s",
                              "%s.4::int", "%s.0", "%se0", "abs(%s)", "%s + 0",
                              "coalesce(%s, 1)", "(%s)", "'0%s'", "' %s'", "cast(%s AS smallint)",
                              "%s::text::int", "times_two(%s)",
                              "(SELECT %s)"]) % plain
        if kind in "tvc":
            plain = self.pick(WORDS)
            if self.values is not None and self.chance(.5):
                return self.parameter(plain, 25)
            if not self.odd(.2):
                return "'%s'" % plain
            return self.pick(["'%s'::text", "E'%s'", "$q$%s$q$", "'%s'::varchar(2)",
                              "'%s'::char(4)", "lower('%s')", "'%s' || ''", "'%s'::name",
                              "N'%s'", "U&'%s'", "concat('%s')", "'%s '",
                              "CASE WHEN true THEN '%s' END"]) % plain
        plain = self.pick(OTHERS[kind])
        if self.values is not None and plain[0] == "'" and self.chance(.4):
            return self.parameter(plain.strip("'"), 0)
        return plain

    def parameter(self, value, oid):
        if self.values and self.odd(.15):  # one that has a type by another place
            return "$%d" % self.rng.randint(1, len(self.values))
        self.values.append(value)
        self.types.append(self.pick([0, 0, 0, oid] + ([20, 21] if oid == 23 else [1043, 1042]
                                                      if oid == 25 else [])))
        return "$%d" % len(self.values)

    def condition(self, scope, depth=0):
        if not scope:
            return "true"
        roll = self.rng.random()
        if depth < 2 and roll < .22:
            return "(%s %s %s)" % (self.condition(scope, depth + 1),
                                   self.pick(["AND", "AND", "OR"]),
                                   self.condition(scope, depth + 1))
        if depth < 2 and roll < .26:
            return "NOT (%s)" % self.condition(scope, depth + 1)
        if roll < .26 + .05 * self.oddity:
            return self.nested(scope)
        keys = [c for c in scope if c.key]
        c = self.pick(keys) if keys and self.chance(.5) else self.pick(scope)
        return self.simple(c, scope)

    def simple(self, c, scope):
        operator, roll = self.pick(COMPARED), self.roll(.79)
        if roll < .5:
            sides = (c.ref, operator, self.constant(c.kind))
            return "%s %s %s" % (sides if self.chance(.9) else sides[::-1])
        if roll < .6:
            return "%s %sIN (%s)" % (c.ref, "NOT " if self.chance(.2) else "",
                                     ", ".join(self.constant(c.kind)
                                               for _ in range(self.rng.randint(1, 3))))
        if roll < .68:
            return "%s %sBETWEEN %s%s AND %s" % (c.ref, "NOT " if self.chance(.2) else "",
                                                 "SYMMETRIC " if self.chance(.15) else "",
                                                 self.constant(c.kind), self.constant(c.kind))
        if roll < .74:
            return "%s IS %sNULL" % (c.ref, self.pick(["", "NOT "]))
        if roll < .8 and c.kind in "tvc":
            return "%s %s %s" % (c.ref, self.pick(["LIKE", "LIKE", "NOT LIKE", "ILIKE", "~",
                                                   "SIMILAR TO"]),
                                 self.pick(["'x%'", "'%'", "'_'", "'x'", "'a\\_%'",
                                            "'x%' ESCAPE 'x'", "'c %'", "''"]))
        if roll < .85:
            return "%s = %s (ARRAY[%s]%s)" % (
                c.ref, self.pick(["ANY", "ANY", "ALL"]),
                self.pick(["", "1.5, 2", self.constant(c.kind), self.constant(c.kind)]),
                self.pick(["", "", "::%s[]" % self.pick(ARRAYS.get(c.kind, ["text"]))]))
        if roll < .9:
            same = [o for o in scope if o.kind == c.kind]
            return "%s %s %s" % (c.ref, operator, self.pick(same).ref)
        if roll < .93 and c.kind in CASTS and self.chance(.5):
            return self.pick(CASTS[c.kind]) % c.ref
        if roll < .93:
            return "%s IS %sDISTINCT FROM %s" % (c.ref, self.pick(["", "NOT "]),
                                                 self.constant(c.kind))
        if c.kind == "b":
            return self.pick(["%s", "NOT %s", "%s IS TRUE", "%s IS NOT FALSE",
                              "%s IS UNKNOWN"]) % c.ref
        if c.kind == "i":
            return self.pick(["%s + 1 = 2", "%s %% 2 = 1", "-%s < 0", "%s = true",
                              "%s = 'a'::text::int", "%s <+> 1 = 2", "%s::text = '1'",
                              "%s = 2 - 1", "abs(%s) = 1", "lower(%s) = 11",
                              "%s = (SELECT max(k) FROM kv)", "%s * 1.0 = 1", "(%s, 1) = (1, 1)",
                              "(%s, 1) > (1, 0)", "%s OPERATOR(pg_catalog.=) 1",
                              "%s OPERATOR(other.=) 1", "%s = 1::smallint",
                              "num_nulls(%s) = 0", "random() < 2 AND %s > 0"]) % c.ref
        if c.kind in "tvc":
            return self.pick(["lower(%s) = 'x'", "%s || '' = 'x'", "%s COLLATE \"C\" > 'x'",
                              "%s ^@ 'x'", "length(%s) = 1", "%s::char(1) = 'x'", "%s::varchar(1) = 'x'",
                              "%s::bytea = 'x'", "upper(%s) LIKE 'X%%'", "(%s) = ('x')",
                              "%s = 'x'::char(3)", "%s > 'X' COLLATE \"en-x-icu\"",
                              "%s < 'c' COLLATE \"C\"", "upper(%s) = upper('x')",
                              "lower(%s) IN ('x', 'y')", "lower(%s::text) LIKE lower('X%%')",
                              "%s <> lower('X')", "lower(upper(%s)) > 'ab'"]) % c.ref
        if c.kind in CASTS and self.chance(.7):
            return self.pick(CASTS[c.kind]) % c.ref
        return "(%s) = (%s)" % (c.ref, self.constant(c.kind))

    def nested(self, scope):
        name = self.table()
        alias, columns = self.pick(["", " kv", " x", " q", " item"]), TABLES[name][1]
        outer = self.pick(scope)
        inner = self.pick([c for c in columns if columns[c] == outer.kind] or list(columns))
        qualified = "%s.%s" % (alias.strip() or name.split(".")[-1], inner)
        return self.pick(["EXISTS (SELECT 1 FROM %s%s WHERE %s = %s)"
                          % (name, alias, qualified, outer.ref),
                          "NOT EXISTS (SELECT FROM %s%s WHERE %s = %s)"
                          % (name, alias, qualified, outer.ref),
                          "%s IN (SELECT %s FROM %s)" % (outer.ref, inner, name),
                          "%s = ANY (SELECT %s FROM %s%s)" % (outer.ref, qualified, name, alias),
                          "%s = (SELECT %s FROM %s%s LIMIT 1)"
                          % (outer.ref, qualified, name, alias),
                          "%s NOT IN (SELECT %s FROM %s WHERE %s IS NOT NULL)"
                          % (outer.ref, inner, name, inner)])

    def by_key(self, columns, more=.2):
        keys = [c for c in columns if c.key]
        text = " AND ".join("%s = %s" % (c.ref, self.constant(c.kind)) for c in keys[:2])
        return text + (" AND " + self.condition(columns) if self.chance(more) else "")

    # ---- FROM

    def source(self, ctes, depth):
        """Its text, its columns."""
        roll = self.rng.random()
        roll = self.rng.random()
        if not ctes and .5 < roll < .63 and self.rng.random() >= self.oddity:
            roll = 1
        if ctes and roll < .5:
            name, columns = self.pick(ctes)
            alias = self.pick([name, "x", "y"])
            return "%s %s" % (name, alias), [Column(alias + "." + c.bare, c.bare, c.kind, c.key)
                                             for c in columns]
        if depth < 2 and .5 < roll < .58:
            text, columns = self.select(depth + 1)
            alias = self.pick(["s", "kv", "x", "item"])
            return "%s(%s) %s" % ("LATERAL " if self.chance(.1) else "", text,
                                  alias), [Column(alias + "." + c.bare, c.bare, c.kind, c.key)
                                                                                      for c in columns]
        if .58 < roll < .6:
            alias = self.pick(["v", "kv"])
            return "(VALUES (1, 'x'), (5, 'y')) %s(k, a)" % alias, [Column(alias + ".k", "k", "i"),
                    Column(alias + ".a", "a", "t")]
        if .6 < roll < .615:
            return "generate_series(1, 2) k", [Column("k", "k", "i")]
        if .615 < roll < .63:
            return "items_with(1) f", [Column("f.id", "id", "i", True),
                                       Column("f.name", "name", "t")]
        return self.relation()

    def relation(self):
        name = self.table()
        key, columns = TABLES[name]
        only = "ONLY " if self.odd(.03) else ""
        alias, text = name.split(".")[-1], only + name
        shown = list(columns)
        if self.chance(.45):
            alias = self.pick(["x", "y", "z", "kv", "item", "k", "t1"])
            text += (" AS " if self.chance(.5) else " ") + alias
            if self.odd(.08):
                names = self.rng.sample(list(columns), self.rng.randint(1, len(columns)))
                text += "(%s)" % ", ".join(names)
                shown[:len(names)] = names
        if self.odd(.015):
            text += " TABLESAMPLE " + self.pick(["BERNOULLI (50)", "SYSTEM (100)",
                                                 "BERNOULLI (100)"])
        return text, [Column(alias + "." + s, s, columns[c], c in key) for s,
                      c in zip(shown, columns)]

    def joined(self, text, scope, ctes, depth):
        other, columns = self.source(ctes, depth)
        kind = self.pick(["JOIN", "JOIN",
                          "LEFT JOIN"]) if self.rng.random() >= self.oddity else self.pick(["JOIN"] * 4 + ["LEFT JOIN"] * 3 + ["RIGHT JOIN", "FULL JOIN", "CROSS JOIN", ",", "NATURAL JOIN", "NATURAL LEFT JOIN"])
        common = [c for c in columns if any(c.bare == s.bare and c.kind == s.kind for s in scope)]
        merged = []
        if kind in (",", "CROSS JOIN"):
            text = "%s%s %s" % (text, kind if kind == "," else " " + kind, other)
        elif kind.startswith("NATURAL"):
            text = "%s %s %s" % (text, kind, other)
            merged = [Column(c.bare, c.bare, c.kind, c.key) for c in common]
        elif common and self.odd(.35):
            c = self.pick(common)
            text = "%s %s %s USING (%s)%s" % (text, kind, other, c.bare, " AS j" if self.chance(.1)
                                              else "")
            merged = [Column(c.bare, c.bare, c.kind, True)]
        else:
            pairs = [(a, b) for a in scope for b in columns if a.kind == b.kind]
            on = "%s = %s" % ((lambda a, b: (a.ref, b.ref))(*self.pick(pairs))) if pairs else "true"
            if self.chance(.15):
                on += " AND " + self.condition(scope + columns, 2)
            text = "%s %s %s ON %s" % (text, kind, other, on)
        return text, scope + columns, merged

    # ---- SELECT

    def select(self, depth=0):
        """Its text, and the columns of its result."""
        ctes, with_ = [], ""
        if depth == 0 and self.odd(.1):
            with_, ctes = self.with_clause()
        text, scope = self.source(ctes, depth)
        single, merged = True, []
        for _ in range(2):
            if not self.chance(.22 if not ctes else .5):
                break
            text, scope, more = self.joined(text, scope, ctes, depth)
            merged, single = merged + more, False
        bare = single and self.chance(.6)
        columns = [Column(c.bare if bare else c.ref, c.bare, c.kind, c.key) for c in scope] + merged
        targets, out, tail = self.targets(columns, scope, single, depth)
        if self.odd(.07):
            targets = [self.pick(["DISTINCT ", "DISTINCT ", "DISTINCT ON (%s) "
                                  % self.pick(columns).ref]) + targets[0]] + targets[1:]
        sql = "%sSELECT %s FROM %s" % (with_, ", ".join(targets), text)
        if self.chance(.72):
            keys = [c for c in columns if c.key]
            sql += " WHERE " + (self.by_key(columns) if keys and self.chance(.4)
                                else self.condition(columns))
        sql += tail + self.ending(columns, depth)
        if depth < 2 and not with_ and out and self.odd(.04):
            name = self.pick(["kv", "shop.item", "including"])
            sql = "%s %s SELECT %s FROM %s" % (sql.split(" ORDER BY")[0].split(" LIMIT")[0].split(" FOR ")[0],
                                               self.pick(["UNION ALL", "UNION", "EXCEPT",
                                                          "INTERSECT"]), ", ".join(list(TABLES[name][1])[:len(out)]), name)
        names = [c.bare for c in out]
        return sql, [c for c in out if names.count(c.bare) == 1]

    def with_clause(self):
        text, columns = self.select(1)
        name = self.pick(["c", "kv", "w", "item"])
        if self.chance(.2):
            columns = [Column("k", "k", "i", True), Column("a", "a", "t"), Column("b", "b", "i")]
            text = self.pick(["UPDATE kv SET b = b + 1 WHERE k = 2 RETURNING *",
                              "DELETE FROM kv WHERE k = 1 RETURNING *",
                              "INSERT INTO kv VALUES (50, 'n', 5) RETURNING *"])
        return "WITH %s AS %s(%s) " % (name, self.pick(["", "", "MATERIALIZED ",
                                                        "NOT MATERIALIZED "]),
                                       text), [(name, columns)]

    def targets(self, columns, scope, single, depth):
        roll, tail, out = self.rng.random(), "", []
        if depth == 0 and roll < .14:
            targets = []
            for _ in range(self.rng.randint(1, 2)):
                c = self.pick(columns)
                numeric = [o for o in columns if o.kind in "in"] or columns
                truth = self.pick([o for o in columns if o.kind == "b"] or columns)
                targets.append(self.pick(["count(*)", "count(%s)" % c.ref, "min(%s)" % c.ref,
                                          "max(%s)" % c.ref, "sum(%s)" % self.pick(numeric).ref,
                                          "avg(%s)" % self.pick(numeric).ref,
                                          "count(DISTINCT %s)" % c.ref, "bool_and(%s)" % truth.ref])
                               if self.rng.random() >= self.oddity
                               else self.pick(["count(*)", "count(*)", "count(%s)" % c.ref,
                                               "sum(%s)" % self.pick(numeric).ref,
                                          "min(%s)" % c.ref, "max(%s)" % c.ref,
                                               "count(DISTINCT %s)" % c.ref, "avg(%s)"
                                               % self.pick(numeric).ref,
                                          "count(*) FILTER (WHERE %s)" % self.condition(columns, 1),
                                               "sum(%s) + 1" % self.pick(numeric).ref,
                                          "count(*) OVER ()", "shop.count(%s::text)" % c.ref,
                                               "count(%s::word)" % c.ref, "pg_catalog.count(*)",
                                          "max(%s) AS count" % c.ref, "sum(%s ORDER BY 1)"
                                               % self.pick(numeric).ref, "count(1)",
                                               "count(ALL %s)" % c.ref, "bool_and(%s)" % truth.ref,
                                          "bool_or(%s)" % truth.ref, "every(%s)" % truth.ref,
                                               "sum(DISTINCT %s)" % c.ref]))
            if self.odd(.25):
                c = self.pick(columns)
                tail = " GROUP BY " + self.pick([c.ref, c.ref, "ROLLUP (%s)" % c.ref, "()"])
                targets.append(c.ref)
            if self.chance(.06):
                tail += " HAVING count(*) > 1"
            return targets, [], tail
        if depth == 0 and roll < .19:
            return [self.pick(["1", "1 AS a", "true", "'x'", "NULL", "(1)", "1 AS k"])], [], tail
        if roll < .42:
            targets = ["*"] if self.chance(.7) else [scope[0].ref.rsplit(".", 1)[0]
                                                     + ".*"] if "." in scope[0].ref else ["*"]
            return targets, [Column(c.bare, c.bare, c.kind, c.key)
                             for c in scope] if targets == ["*"] else [], tail
        targets = []
        chosen = ([c for c in columns if c.key] if self.chance(.65) else []) + [self.pick(columns)
            for _ in range(self.rng.randint(1, 3))]
        for c in chosen[:8]:
            if self.chance(.1):
                name = self.pick(["k", "a", "b", "id", "name", "z"])
                targets.append("%s AS %s" % (c.ref, name))
                out.append(Column(name, name, c.kind))
            else:
                targets.append(c.ref)
                out.append(Column(c.bare, c.bare, c.kind, c.key))
        if self.odd(.14):
            targets.append(self.pick([
                "generate_series(1, 2)", "unnest('{}'::int[])", "row_number() OVER ()", "now()",
                                      "1 AS k", "at_most(1)", "at_most(0)", "bump(1)",
                "(SELECT max(b) FROM kv)", "CASE WHEN true THEN 1 END", "ctid", "lower('X')",
                                      "'x' AS a", "random()", "lower(1)", "noted('list', 1)",
                "(SELECT k FROM kv WHERE k = 1) AS k", "regexp_matches('ab', 'c')", "xmin",
                                      "tableoid", "current_user", "pg_sleep(0)",
                "1::pair", "NULL::text AS a", "jsonb_array_elements('[]')"]))
            out.append(Column("z9", "z9", "i"))
        if self.odd(.04):
            tail = " GROUP BY " + ", ".join(c.ref for c in chosen[:8])
        return targets, out, tail

    def ending(self, columns, depth):
        text = ""
        if self.chance(.08):
            orders = [self.pick(columns).ref + self.pick(["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"])
                      for _ in range(self.rng.randint(0, 2))]
            orders += [c.ref + self.pick(["", " DESC"]) for c in columns if c.key and self.chance(.7)]
            if orders:
                return " ORDER BY %s LIMIT %s" % (", ".join(orders), self.pick(["1", "2", "3"]))
        if self.chance(.22):
            c = self.pick(columns)
            text += " ORDER BY " + self.pick(["1", c.ref, c.ref + " DESC"]
                                             if self.rng.random() >= self.oddity
                                             else [c.ref, c.ref + " DESC NULLS LAST", "1 DESC",
                                                   "at_most(1)", "at_most(0)",
                                              "at_most(%s)" % (c.ref if c.kind == "i" else "2"),
                                                   c.ref + " USING <", "random()", "bump(2)",
                                                   "count(*)", "max(%s)" % c.ref])
        if self.chance(.1):
            text += self.pick([" LIMIT 1", " LIMIT 2", " LIMIT 100", " OFFSET 1"]
                              if self.rng.random() >= self.oddity
                              else [" LIMIT 0", " LIMIT ALL", " LIMIT NULL",
                                    " FETCH FIRST ROW ONLY", " FETCH FIRST 1 ROW WITH TIES",
                               " LIMIT (SELECT 1)", " LIMIT bump(1)", " OFFSET 1", " LIMIT 100"])
        if depth == 0 and self.chance(.05):
            text += self.pick([" FOR UPDATE", " FOR SHARE SKIP LOCKED", " FOR NO KEY UPDATE",
                               " FOR KEY SHARE NOWAIT"])
        return text

    # ---- writes

    def insert(self, name):
        key, columns = TABLES[name]
        names = [c for c in columns if columns[c] != "g"]
        if self.chance(.3) and len(names) > 2:
            names = self.rng.sample(names, self.rng.randint(2, len(names)))

        def value(c):
            if self.chance(.03):
                return "DEFAULT"
            if c in key and self.chance(.8):
                new = str(self.rng.randint(0, 99))
                if columns[c] == "i":
                    return new if not self.odd(.3) else self.pick(["'%s'", "%s.4", "%s::int8",
                            "%s + 0", "(SELECT %s)", "abs(-%s)", "%s::text::int"]) % new
                if columns[c] in "tvc":
                    return self.pick(["'n%s'"] if self.rng.random() >= self.oddity
                                     else ["'n%s'", "'n '", "true", "%s", "'n%s'::text",
                                           "'%s'::char(4)", "date '2024-01-01'", "1.50",
                                           "'n%s' || ''",
                                      "E'\\t%s'", "'t'::bool",
                                           "'abcdef'::varchar(3)"]).replace("%s", new)
            return self.constant(columns[c])
        rows = ", ".join("(%s)" % ", ".join(value(c) for c in names)
                         for _ in range(2 if self.odd(.1) else 1))
        over = self.pick([" OVERRIDING USER VALUE",
                          " OVERRIDING SYSTEM VALUE"]) if name in ("numbered",
                              "always") and self.chance(.5) else ""
        listed = " (%s)" % ", ".join(names) if self.chance(.85) or len(names) < len(columns) else ""
        sql = "INSERT INTO %s%s%s%s VALUES %s" % (name, " AS x" if self.chance(.03) else "", listed,
                                                  over, rows)
        if self.odd(.06):
            sql = "INSERT INTO %s (%s) %s" % (name, ", ".join(names[:2]), self.select(1)[0])
        if self.odd(.03):
            sql = "INSERT INTO %s DEFAULT VALUES" % name
        if self.chance(.15):
            c = self.pick(names)
            sql += self.pick([" ON CONFLICT DO NOTHING",
                              " ON CONFLICT (%s) DO UPDATE SET %s = EXCLUDED.%s"
                              % (", ".join(key) or "a", c, c),
                              " ON CONFLICT (%s) DO NOTHING" % (", ".join(key) or "a")])
        return sql

    def update(self, name):
        key, columns = TABLES[name]
        scope = [Column(c, c, kind, c in key) for c, kind in columns.items()]
        plain = [c for c in columns if c not in key and columns[c] != "g"] or list(columns)
        c = self.pick(key) if key and self.chance(.08) else self.pick(plain)
        sql = "UPDATE %s%s%s SET %s" % ("ONLY " if self.odd(.03) else "", name, " AS x"
                                        if self.chance(.1) else "",
                                        self.pick(["%s = %s" % (c, self.constant(columns[c])),
                                                   "%s = %s" % (c, c), "(%s) = ROW(%s)"
                                                   % (c, self.constant(columns[c])),
                                                   "%s = DEFAULT" % c]) if self.chance(.2)
                                        else "%s = %s" % (c, self.constant(columns[c])))
        if self.chance(.06):
            sql += " FROM line l"
        if self.chance(.9):
            sql += " WHERE " + (self.by_key(scope) if key and self.chance(.65)
                                else self.condition(scope))
        return sql

    def delete(self, name):
        key, columns = TABLES[name]
        scope = [Column(c, c, kind, c in key) for c, kind in columns.items()]
        return "DELETE FROM %s%s WHERE %s" % (name, " USING kv z" if self.chance(.04) else "",
                                              self.by_key(scope) if key and self.chance(.7)
                                              else self.condition(scope))

    def write(self):
        name, roll = self.table(), self.roll(.95)
        if roll > .95:
            return self.pick([
                "SELECT shop.lower(1)", "SELECT bump(2)", "SELECT * FROM writing",
                              "TRUNCATE keyless", "CALL change()", "SELECT k FROM writing_nested",
                "MERGE INTO kv USING (VALUES (1), (77)) v(n) ON kv.k = v.n WHEN MATCHED THEN UPDATE SET b = 5 WHEN NOT MATCHED THEN INSERT VALUES (v.n, 'm', 1)",
                "INSERT INTO kv SELECT max(k) + 1, 'x', 1 FROM kv",
                              "DO $$ BEGIN UPDATE kv SET b = 9 WHERE k = 3; END $$",
                              "SELECT nextval('serials_k_seq')",
                "COPY kv (k) FROM STDIN" if self.values is None else "TRUNCATE log",
                              "SELECT 3 <+> 4", "SELECT (1::pair).x",
                              "UPDATE kv SET b = noted('set', 5) WHERE k = 1",
                "DELETE FROM kv WHERE k = bump(1)", "SELECT k INTO fresh FROM kv",
                              "SELECT k, a FROM kv WHERE k = noted('where', 2)"])
        sql = self.insert(name) if roll < .4 else self.update(name) if roll < .75 else self.delete(name)
        if self.odd(.05):
            sql = "WITH d AS (%s) %s" % (self.pick(["DELETE FROM numbered WHERE k = 2 RETURNING *",
                                                    "INSERT INTO kv VALUES (%d, 'w', 1) RETURNING *" %
                                                   self.rng.randint(100, 999), "SELECT 1",
                                                    "UPDATE shop.item SET qty = 9 WHERE id = 1"]),
                                         sql)
        if self.chance(.12):
            sql += self.pick([" RETURNING *", " RETURNING 1", " RETURNING "
                              + list(TABLES[name][1])[0]])
        return sql

    def statement(self, reads=.75):
        if not self.chance(reads):
            return self.write()
        return "SELECT EXISTS (%s)" % self.select()[0] if self.chance(.04) else self.select()[0]


# Beside the proxy, by another session; then schema and rows are made anew.
DIRECT = ["ALTER TABLE kv RENAME TO kv_old; ALTER TABLE including RENAME TO kv",
          "ALTER TABLE kv RENAME a TO c; ALTER TABLE kv RENAME b TO a",
          "ALTER TABLE kv DROP CONSTRAINT kv_pkey; ALTER TABLE kv ADD PRIMARY KEY (b)",
          "CREATE POLICY p ON kv USING (k < 3); ALTER TABLE kv ENABLE ROW LEVEL SECURITY",
          "CREATE TABLE kv_child () INHERITS (kv); INSERT INTO kv_child VALUES (90, 'child', 1)",
          "CREATE TABLE shop.kv (k int PRIMARY KEY, a text, b int)",
          "CREATE TRIGGER late BEFORE INSERT ON kv FOR EACH ROW EXECUTE FUNCTION rekey()",
          "CREATE RULE late AS ON UPDATE TO kv DO INSTEAD NOTHING",
          "ALTER TABLE kv ALTER a TYPE char(5)",
          "ALTER TABLE kv SET SCHEMA other; ALTER TABLE shop.item SET SCHEMA other",
          "DROP TABLE shop.word; CREATE TABLE shop.word (n int PRIMARY KEY, w text, owner uuid); INSERT INTO shop.word VALUES (1, 'x', NULL)",
          "ALTER TABLE kv ALTER b SET DEFAULT noted('late', 4)",
          "CREATE FUNCTION public.abs(int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1'",
          "ALTER ROLE postgres SET TimeZone = 'Asia/Tokyo'",
          "ALTER ROLE postgres SET search_path = shop, public", "ALTER TABLE kv SET UNLOGGED"]


class Sessions:
    """Steps of sessions, each by its own seed."""

    def __init__(self, rng):
        self.rng, self.made = rng, Statements(rng)
        self.names, self.disturbed, self.parameters = [], False, False

    def steps(self, statements):
        """At least so many statements in one session."""
        out = [Step("client", "", "", **self.rng.choice(STARTUPS))]
        if self.rng.random() < .04:
            out.append(Step("simple", "SET " + self.rng.choice(SETTINGS)))
        count = 0
        while count < statements:
            more = self.transaction()
            count += sum(step.count() for step in more)
            out += more
        return out

    def one(self, reads):
        """A statement, in one of the ways to send it."""
        made, roll = self.made, self.rng.random()
        if .62 < roll < .79 and self.rng.random() >= made.oddity:
            roll = self.rng.choice([.5, .85, .95])
        made.values = made.types = None
        if roll < .62:
            return [Step("simple", self.sql(reads))]
        if roll < .68:
            return [Step("simple", "%s; %s" % (self.sql(reads), self.sql(reads)))]
        if roll < .7:
            return [Step("simple", self.rng.choice(["-- x\rUPDATE\n%s", "/* ; */ %s", "%s --",
                                                    "/* a /* b */ c */ %s", "-- a\n%s", "\t%s ;"])
                         % self.sql(reads))]
        if roll < .72:
            both = [self.sql(reads) for _ in range(2)]
            return [Step("pipeline", "\n".join(one for one in both if not one.startswith("COPY"))
                         or "SELECT 1")]
        if roll < .76:
            return self.cursor()
        if roll < .79:
            name = "q%d" % self.rng.randint(1, 3)
            return [Step("simple", "DEALLOCATE ALL"), Step("simple", "PREPARE %s AS %s"
                                                           % (name, self.sql(reads)))] + [
                Step("simple", "EXECUTE %s" % name)] * self.rng.randint(1, 2)
        made.values, made.types = [], []
        sql = self.sql(reads)
        options = {"values": made.values} if made.values else {}
        if any(made.types):
            options["types"] = made.types
        made.values = made.types = None
        if roll < .93:
            if self.rng.random() < .3:
                options["binary"] = 1
            if self.rng.random() < .05:
                options["limit"] = 1
            return [Step("extended", sql, "", **options)]
        name = "p%d" % self.rng.randint(1, 10**6)
        out = [Step("prepare", sql, name, **{k: v for k, v in options.items() if k == "types"})]
        for _ in range(self.rng.randint(1, 2)):
            out.append(Step("execute", "", name, **{k: v for k, v in options.items()
                                                    if k == "values"}))
        if self.rng.random() < .15:
            out.insert(1, Step("simple", "SET LOCAL search_path = shop, public"))
        return out

    def sql(self, reads):
        for _ in range(20):
            try:
                return self.made.statement(reads)
            except IndexError:  # a nested SELECT has no columns to name
                if self.made.values:
                    del self.made.values[:], self.made.types[:]
        return "SELECT k, a FROM kv"

    def cursor(self):
        out = [Step("simple", "DECLARE c %s%sCURSOR FOR %s" % (self.rng.choice(["", "NO SCROLL ",
            "SCROLL ", "INSENSITIVE "]), "", self.sql(1)))]
        for _ in range(self.rng.randint(1, 3)):
            roll = self.rng.random()
            if roll < .2:
                out.append(Step("simple", self.sql(0)))
            out.append(Step("simple", self.rng.choice(["FETCH 1 FROM c", "FETCH ALL FROM c",
                                                       "FETCH 2 c", "MOVE 1 IN c", "FETCH c"])))
        out.append(Step("simple", "CLOSE c"))
        return out

    def transaction(self):
        rng = self.rng
        self.made.oddity = rng.choice([1, .3, .3, MILD])
        roll = rng.random()
        if roll < .06:
            return self.one(.7)
        begin = rng.choice(["BEGIN ISOLATION LEVEL REPEATABLE READ"] * 12
                           + ["BEGIN ISOLATION LEVEL SERIALIZABLE", "BEGIN",
                           "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
                              "BEGIN; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"])
        out = [Step("simple", begin)]
        if self.made.odd(.12):
            out.append(Step("simple", rng.choice(["SET LOCAL "] * 5 + ["SET "])
                            + rng.choice(SETTINGS)))
        if self.made.odd(.06):
            out.append(Step("simple",
                            rng.choice(["CREATE TEMP TABLE kv (k int PRIMARY KEY, a text, b int)",
                                        "CREATE TEMP VIEW kv AS SELECT k, 'v'::text AS a, b FROM including",
                                                  "CREATE TEMP TABLE item AS SELECT * FROM item",
                                        "SELECT 9 AS k, 'x'::text AS a, 1 AS b INTO TEMP kv",
                                                  "CREATE TABLE pg_temp.kv (k int PRIMARY KEY, a text, b int)", "ALTER TABLE kv RENAME a TO q",
                                                  "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "DROP TABLE child",
                                                  "ALTER TABLE kv ADD z int DEFAULT 4",
                                        "CREATE DOMAIN pg_temp.int4 AS text"])))
        reads = rng.choice([1, 1, .9, .7, .3])
        for i in range(rng.choice([1, 2, 4, 8, 16])):
            if self.made.odd(.12):
                out.append(Step("simple", rng.choice(["SAVEPOINT s", "SAVEPOINT s", "ROLLBACK TO s",
                                                      "RELEASE s"])))
            out += self.one(reads)
            if reads < 1 and rng.random() < .4:
                out.append(Step("simple", rng.choice(["SELECT k FROM mark WHERE k = %d" % i,
                                                      "SELECT k, a, b FROM public.kv",
                                                      "SELECT * FROM item WHERE id = 1"])))
        if reads < 1 and rng.random() < .04:
            out.append(Step("simple", "SET CONSTRAINTS ALL " + rng.choice(["DEFERRED",
                "IMMEDIATE"])))
        out.append(Step("simple", "COMMIT" if rng.random() < .5 else "ROLLBACK"))
        return out
