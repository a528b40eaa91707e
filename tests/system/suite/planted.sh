#!/bin/bash
# Bugs of applications that their own tests do not see: `isochron run -- pytest` finds each, and says in which test; the mended
# version is silent. TAP on stdout.
#
#   BUILD=build PYTHON=/usr/bin/python3 tests/system/suite/planted.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-/usr/bin/python3}
. "$here/../../support/servers.sh"
plan 5
postgres_start || exit 4
export TMPDIR=$work PYTHONPATH=$here/../../../deploy/pytest PYTHONDONTWRITEBYTECODE=1
said() { cat "$work/err" "$work/out" | grep -v '^$' | tail -12 | sed 's/^/# /'; }
judge() { # LEVEL TEST: a test beside other work may leave something undecided, and is run again
    for try in 1 2 3; do
        "$isochron" run --fail-level "$1" "$url" -- "$python" -m pytest -q -p isochron_pytest -p no:cacheprovider "$here/planted_test.py" -k "$2" \
            >"$work/out" 2>"$work/err"
        status=$?
        [ $status != 3 ] && break
    done
    grep -q '^1 passed' "$work/out"
}
found() { # LEVEL TEST ANOMALY
    judge "$1" "$2" && [ $status = 1 ] && grep -q "$3" "$work/err" && grep -q "planted_test.py::$2\": SELECT " "$work/err"
}

unset MENDED
found si test_two_buyers "lost update of column stock of row public.shop_item/1"
result $? "a lost update in a Django view, of values that had stood there before" || said
found ser test_doctors_on_call "write skew"
result $? "write skew below SQLAlchemy" || said
export MENDED=1
judge si test_two_buyers && [ $status = 0 ] && judge ser test_two_buyers && [ $status = 0 ]
result $? "the view that locks its row is not accused" || said
judge ser test_doctors_on_call && [ $status = 0 ]
result $? "nor are the doctors at SERIALIZABLE" || said

# A record that says of another row that it was written: no level asks that, the stream does.
cat >"$work/claims.sql" <<'END'
CREATE TABLE claimed (id int PRIMARY KEY, v int);
INSERT INTO claimed VALUES (1, 1), (2, 2);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT v FROM claimed WHERE id = 2;
UPDATE claimed SET v = 6 WHERE id = 1 RETURNING id, v;
COMMIT;
END
contradicts() {
    "$isochron" run --keep "$work/kept" "$url" -- psql -qX {URL} -f "$work/claims.sql" >"$work/out" 2>"$work/err" || return 1
    zstd -dc "$work/kept/run.capture.jsonl.zst" | sed 's#\\"t\\":\\"w\\",\\"row\\":\\"public.claimed/1\\"#\\"t\\":\\"w\\",\\"row\\":\\"public.claimed/9\\"#' \
        | zstd -qc >"$work/forged" && mv "$work/forged" "$work/kept/run.capture.jsonl.zst"
    "$isochron" run --judge "$work/kept" >"$work/out" 2>"$work/err"
    [ $? = 1 ] && grep -q "what its clients were told and its changes contradict each other: 2 violations" "$work/err" \
        && grep -q "row missing from the change stream: key public.claimed/9" "$work/err"
}
contradicts
result $? "what clients were told and the changes contradict each other: said, each" || said
