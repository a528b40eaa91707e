#!/bin/bash
# Conditions and aggregates against a real PostgreSQL: what src/model/predicate says of 20,000 random ones is what the server says, and where it was told
# less than the server knows (a column without its type, a text of another collation), the server's answer is among those that it
# gives. tests/property/predicate_sql.c makes the questions and our answers. TAP on stdout.
#
#   BUILD=build tests/system/postgres/conditions.sh [CONDITIONS]
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/servers.sh"
program=$build/tests/property/predicate_sql
plan 3

"$program" --conditions "${1:-20000}" --script "$work/script.sql" --answers "$work/answers" >"$work/made"
result $? "conditions and our answers" || { cat "$work/made"; exit 1; }
postgres_start || exit 4
{
    echo "CREATE TABLE t (id int, a bigint, Big bigint, n numeric, \"no\"\"te\" text COLLATE \"C\", t text COLLATE \"C\", f boolean,
        loose text COLLATE \"und-x-icu\", m bigint, v text COLLATE \"und-x-icu\", back text COLLATE \"und-x-icu\",
        x text COLLATE \"und-x-icu\", w text COLLATE \"C\", d date, ts timestamp, ts3 timestamp(3), tz timestamptz, tm time);
        SET TimeZone = UTC;"
    cat "$work/script.sql"
} | psql "$server" -X -q -A -t -P null=N -v ON_ERROR_STOP=1 >"$work/server" 2>"$work/errors"
result $? "PostgreSQL takes them" || { sed 's/^/# /' "$work/errors"; exit 1; }

# One letter of the server, one or more of ours; of aggregates `=` and the text, or `?`.
paste -d '\n' "$work/answers" "$work/server" | awk -F'|' '
    NR % 2 { for (i = 1; i <= NF; i++) ours[i] = $i; fields = NF; next }
    {
        for (i = 1; i <= fields; i++) {
            answers++
            counted += ours[i] ~ /^=/
            if (ours[i] == "?" || ours[i] == "=" $i || ($i != "" && index(ours[i], $i))) continue
            if (++wrong < 10) print "# row " NR / 2 ", condition " i ": PostgreSQL says " $i ", we " ours[i]
        }
    }
    END { print "# " answers + 0 " answers, " counted + 0 " of them aggregates"; exit !answers || !counted || wrong > 0 }'
result $? "PostgreSQL gives the same answers"
