#!/bin/bash
# `isochron run` before applications in other languages, by their own drivers: pgx, node's pg, ActiveRecord. In each two buyers lose an
# update at READ COMMITTED; the mended one is silent. pgx's own tests, which nobody here wrote, end as they do without it, and so do a
# pytest-xdist run's workers, each with a database of its own. A language whose packages (deploy/debian-packages.txt) cannot be had is
# skipped, and said. TAP on stdout.
#
#   BUILD=build tests/system/suite/languages.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/servers.sh"
plan 9
postgres_start || exit 4
export TMPDIR=$work PYTHONDONTWRITEBYTECODE=1 GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$work/go
apps=$here/languages
has() { # LANGUAGE RESULTS: whether its packages are there; else its results are skipped
    "$here/../../../deploy/install-packages.sh" "language-$1" >"$work/packages" 2>&1 && return
    for ((; skipped < $2; skipped++)); do
        number=$((number + 1))
        echo "ok $number - # SKIP $1: $(tail -1 "$work/packages")"
    done
    return 1
}
run() { "$isochron" run "$@" >"$work/out" 2>"$work/err"; }
said() { tail -12 "$work/err" "$work/out" | sed 's/^/# /'; }

# LANGUAGE TABLE COMMAND...: with the bug it is found, with the test's name; without it all is judged and holds.
shop() {
    unset MENDED
    run --fail-level si "$url" -- "${@:3}"
    [ $? = 1 ] && grep -qi "lost update of column stock of row public.$2/1 by .*buyers\"" "$work/err"
    result $? "$1: a lost update is found, with the test's name" || said
    MENDED=1 run --fail-level si "$url" -- env MENDED=1 "${@:3}"
    result $? "$1: the version that locks its row is judged, and holds" || said
}

skipped=0
if has go 3; then
    go=/usr/lib/go/bin/go
    "$go" build -o "$work/shop" "$apps/shop.go" && shop "Go, pgx" go_item "$work/shop"
    (cd "$GOPATH/src/github.com/jackc/pgx/v4" && "$go" test -c -o "$work/pgx.test" .)
    for extension in hstore ltree; do psql -qc "CREATE EXTENSION $extension" "$url"; done
    psql -qc 'CREATE DOMAIN uint64 AS numeric(20,0)' "$url"
    cd "$GOPATH/src/github.com/jackc/pgx/v4" || exit 4
    outcomes() { sed -n 's/^ *--- \([A-Z]*: [^ ]*\).*/\1/p' "$1" | sort; }
    PGX_TEST_DATABASE=$url "$work/pgx.test" -test.v >"$work/bare" 2>&1
    run "$url" -- env 'PGX_TEST_DATABASE={URL}' "$work/pgx.test" -test.v
    status=$?
    outcomes "$work/bare" >"$work/one"
    outcomes "$work/out" >"$work/other"
    [ $status != 1 ] && [ "$(grep -c PASS: "$work/one")" -gt 100 ] && cmp -s "$work/one" "$work/other"
    result $? "pgx's own tests: $(grep -c PASS: "$work/other") pass, as without it; $(grep -m1 'reads judged' "$work/err")" || said
    cd "$here" || exit 4
fi
skipped=0
(node -e 'require("pg")' 2>"$work/packages" || has node 2) && shop "Node, pg" js_item node "$apps/shop.js"
skipped=0
has ruby 2 && shop "Ruby, ActiveRecord" rb_items ruby "$apps/shop.rb"
skipped=0
if has python 2; then
    run --database 'test_*' "$url" -- /usr/bin/python3 -m pytest -q -n 2 -p no:cacheprovider "$apps/test_workers.py"
    [ $? != 1 ] && grep -q '^20 passed' "$work/out"
    result $? "pytest-xdist: its tests pass, and nothing is violated" || said
    [ "$(grep -c '^isochron: test_gw[01], READ COMMITTED: .* none wrong' "$work/err")" = 2 ]
    result $? "and both workers' databases are judged" || said
fi
