#!/bin/bash
# PostgreSQL's own regression SQL through isochron-proxy: nothing that it records is untrue. TAP on stdout.
#
#   PG_REGRESS=.../src/test/regress tests/system/reread/regress.sh [NAME...]    of its sources; without them it is skipped
here=$(cd "$(dirname "$0")" && pwd)
if [ ! -d "${PG_REGRESS:-}/sql" ]; then
    echo "1..0 # SKIP PG_REGRESS is not src/test/regress of PostgreSQL's sources"
    exit 0
fi
[ $# -gt 0 ] || set -- boolean char name varchar text int2 int4 int8 oid float4 float8 numeric uuid strings date time timestamp timestamptz \
    interval create_table_like select_into select select_distinct select_distinct_on select_implicit select_having subselect union case join \
    aggregates transactions random portals arrays insert insert_conflict update delete temp with truncate alter_table sequence rowtypes \
    returning limit prepare plancache domain rangefuncs copy2 triggers rules foreign_key inherit identity generated tid combocid \
    json jsonb enum rangetypes rowsecurity privileges groupingsets window merge
PG_ABS_SRCDIR=$PG_REGRESS PG_LIBDIR=$(pg_config --pkglibdir) PG_DLSUFFIX=.so
export PG_ABS_SRCDIR PG_LIBDIR PG_DLSUFFIX
# Its tables have no keys, without which little is recorded: each gets one where its rows have.
keys='DO $$ DECLARE one record; BEGIN
    FOR one IN SELECT c.oid::regclass AS name, string_agg(quote_ident(attname), $q$, $q$ ORDER BY attnum) AS columns,
        quote_ident(min(attname) FILTER (WHERE attnum = 1)) AS first FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0
        WHERE relkind = $q$r$q$ AND relnamespace = $q$public$q$::regnamespace GROUP BY c.oid LOOP
        BEGIN
            EXECUTE format($q$ALTER TABLE %s ADD PRIMARY KEY (%s)$q$, one.name, one.first);
        EXCEPTION WHEN OTHERS THEN
            BEGIN
                EXECUTE format($q$ALTER TABLE %s ADD PRIMARY KEY (%s)$q$, one.name, one.columns);
            EXCEPTION WHEN OTHERS THEN NULL;
            END;
        END;
    END LOOP; END $$'
exec "$here/reread.py" app --proxy "${PROXY:-$here/../../../${BUILD:-build}/isochron-proxy}" ${SHAPES:+--shapes "$SHAPES"} -- sh -c '
    psql -Xq -p "$DIRECT_PORT" -f "$PG_ABS_SRCDIR/sql/test_setup.sql" >"/dev/null" 2>&1
    psql -Xq -p "$DIRECT_PORT" -c "$0" >"/dev/null" 2>&1
    for name in "$@"; do psql -Xq -v HIDE_TABLEAM=on -v HIDE_TOAST_COMPRESSION=on -f "$PG_ABS_SRCDIR/sql/$name.sql" 2>&1; done |
        grep -c . | sed "s/^/# lines of psql: /"' "$keys" "$@"
