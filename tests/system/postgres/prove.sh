#!/bin/bash
# What `isochron prove` says of SQL, on a real PostgreSQL: each counterexample of the programs in tests/data/prove is reproduced there by
# the script that --psql writes, and random programs run at READ COMMITTED, REPEATABLE READ and SERIALIZABLE end in nothing that was not
# predicted (prove.py). TAP on stdout.
#
#   ISOCHRON=build/isochron tests/system/postgres/prove.sh [--programs N]      random programs, 12
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/servers.sh"
[ "${1:-}" != --programs ] || shift
programs=${1:-12}
postgres_start || exit 4

replayed=0
for file in "$here"/../../data/prove/*.sql; do
    for level in si rc; do
        "$isochron" prove --level "$level" --psql "$work/replay.sh" "$file" >"$work/log" 2>&1
        [ $? = 1 ] || continue
        bash "$work/replay.sh" "$server" >"$work/log" 2>&1
        result $? "$(basename "$file") breaks at $level as its script says" || sed 's/^/# /' "$work/log"
        replayed=$((replayed + 1))
    done
done
[ "$replayed" -ge 11 ]
result $? "$replayed counterexamples were replayed"

"$here/prove.py" --isochron "$isochron" --server "$server" --programs "$programs" --seed "${SEED:-1}" >"$work/random" 2>&1
status=$?
grep '^#' "$work/random"
while read -r line; do
    case $line in ok*) result 0 "${line#*- }" ;; *) result 1 "${line#*- }" ;; esac
done < <(grep -E '^(not )?ok' "$work/random")
[ "$status" = 0 ] && [ "$(grep -cE '^(not )?ok' "$work/random")" = 3 ]
result $? "random programs ran at three levels" || sed 's/^/# /' "$work/random"
echo "1..$number"
