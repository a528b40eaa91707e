#!/bin/bash
# A lost update below ActiveRecord (Debian's): `isochron run --fail-level si` finds it, and the mended version is silent; each does what it
# does without. How much was judged is printed. TAP on stdout.
#
#   BUILD=build tests/system/suite/applications.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/servers.sh"
plan 3
postgres_start || exit 4
export TMPDIR=$work
bare="$url?sslmode=disable"
said() { cat "$work/err" "$work/out" | grep -v '^$' | tail -8 | sed 's/^/# /'; }
shares() { grep 'reads judged' "$work/err" | sed 's/^isochron/#/'; }
fresh() {
    psql -qX "$url" -c "DROP TABLE IF EXISTS item" -c "CREATE TABLE item (id int PRIMARY KEY, stock int)" -c "INSERT INTO item VALUES (1, 10)" 2>/dev/null
}
judge() { # OPTIONS... -- COMMAND: what it wrote, without times
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    fresh
    "$isochron" run "${options[@]}" "$url" "$@" >"$work/out" 2>"$work/err"
    status=$?
    shares
}
unset LOCK
fresh && DATABASE_URL=$bare ruby "$here/applications/stock.rb" >"$work/bare"
judge --fail-level si -- ruby "$here/applications/stock.rb"
cmp -s "$work/bare" "$work/out" && [ $status = 1 ] && grep -q 'lost update of column stock of row public.item/1' "$work/err"
result $? "ActiveRecord: a lost update is found" || said
export LOCK=1
fresh && DATABASE_URL=$bare ruby "$here/applications/stock.rb" >"$work/bare"
judge --fail-level si -- ruby "$here/applications/stock.rb"
cmp -s "$work/bare" "$work/out" && grep -q 'stock 8' "$work/out" && [ $status = 0 ]
result $? "and not where the row is locked" || said
unset LOCK
judge -- ruby "$here/applications/stock.rb"
[ $status = 0 ]
result $? "nor below READ COMMITTED, which allows it" || said
