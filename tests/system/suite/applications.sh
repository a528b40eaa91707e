#!/bin/bash
# Applications of other languages below `isochron run`, with Debian's own libraries: pytest-xdist whose workers make databases, Go with pgx,
# ActiveRecord. Each does what it does without, nothing is violated but a lost update that was planted, and how much was judged is printed.
# TAP on stdout.
#
#   BUILD=build PYTHON=/usr/bin/python3 tests/system/suite/applications.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-/usr/bin/python3}
. "$here/../../support/servers.sh"
plan 5
postgres_start || exit 4
export TMPDIR=$work PYTHONDONTWRITEBYTECODE=1 GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$work/go GOFLAGS=
bare="$url?sslmode=disable"
said() { cat "$work/err" "$work/out" | grep -v '^$' | tail -8 | sed 's/^/# /'; }
shares() { grep 'reads judged' "$work/err" | sed 's/^isochron/#/'; }
fresh() {
    psql -qX "$url" -c "DROP TABLE IF EXISTS account, item" -c "CREATE TABLE account (id int PRIMARY KEY, balance int)" \
        -c "INSERT INTO account SELECT g, 100 FROM generate_series(1, 10) g" -c "CREATE TABLE item (id int PRIMARY KEY, stock int)" -c "INSERT INTO item VALUES (1, 10)" 2>/dev/null
}
judge() { # OPTIONS... -- COMMAND: what it wrote, without times
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    fresh
    "$isochron" run "${options[@]}" "$url" "$@" >"$work/out" 2>"$work/err"
    status=$?
    shares
}
workers() { "$@" "$python" -m pytest -q -n 2 -p no:cacheprovider "$here/applications/test_workers.py"; }

workers env DATABASE_URL="$bare" >"$work/bare" 2>&1
judge -- "$python" -m pytest -q -n 2 -p no:cacheprovider "$here/applications/test_workers.py"
grep -q '^20 passed' "$work/bare" && grep -q '^20 passed' "$work/out" && [ $status = 0 ] && [ "$(grep -c 'test_gw[01], READ COMMITTED: .* none wrong' "$work/err")" = 2 ]
result $? "pytest-xdist: each worker's database is judged" || said

go build -o "$work/accounts" "$here/applications/accounts.go" 2>&1 | sed 's/^/# /'
fresh && DATABASE_URL=$bare "$work/accounts" >"$work/bare"
judge -- "$work/accounts"
grep 'statements that read' "$work/err" | sed 's/^isochron/#/' # almost none of them are recorded so far
cmp -s "$work/bare" "$work/out" && grep -q 'sum 1000' "$work/out" && [ $status != 1 ] && ! grep -q ' wrong' <(grep -v 'none wrong' "$work/err")
result $? "Go with pgx at REPEATABLE READ is not disturbed, nor accused" || said

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
