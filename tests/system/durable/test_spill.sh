#!/bin/bash
# `watch --state --memory` whose keys go to the store in the state's directory and come back all the time,
# killed at each point of the store's file and at random times: the final verdicts must be those of a run that has all in memory
# and that nobody disturbed. Then its file is damaged. A part of it, or all: CRASHES=all. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
. tests/system/durable/begin.sh
. tests/system/durable/crashes.sh
trap 'stop_broker; rm -rf "$work"' EXIT

start_broker t:3
"$isochron" gen --txns "${TXNS:-4000}" --ops 4 --keys 1500 --watermarks 40 --delay 20 --deviation 10 --repeats 0.01 \
    --anomaly lost-update:15 --anomaly stale-read:25 --anomaly long-fork:10 -X batch.num.messages=40 --to kafka:t -X bootstrap.servers="$address" --quiet
watch=("$isochron" watch --source history:t --until-eof --quiet --final-only --finality-timeout 0 -X bootstrap.servers="$address")
"${watch[@]}" | sort >"$work/expected"
# Every key goes as soon as it can, into segments of 4 KiB, so that many are written, cleaned and written again.
export ISOCHRON_SPILL_ALL=12
durable=("${watch[@]}" -X fetch.message.max.bytes=12000 --state "$work/state" --checkpoint-interval 0 --snapshot-after 40000
    --memory 4000000000 --out file:"$work/lines")
points="before-spill-opened after-spill-opened before-spill-write after-spill-write before-spill-sync after-spill-sync
after-spill-freed before-memory after-memory after-snapshot after-rename after-commit"
optional=

"${durable[@]}"
cmp -s "$work/expected" <(sort "$work/lines")
result $? "what is out of memory is judged alike"
state=$("$isochron" state show "$work/state")
records=$(sed -n 's/^spill-0: \([0-9]*\) records.*/\1/p' <<<"$state")
[ "${records:-0}" -gt 100 ]
result $? "keys are in the store" || sed 's/^/# /' <<<"$state"
rm -rf "$work/state" "$work/lines"

times=(1)
[ "${CRASHES:-part}" = all ] && times=(1 2 3 4 7 20 60)
for point in $points; do
    once=
    for time in "${times[@]}"; do
        crashed "$point:$time" && once=1
        crashed "$point:2" # also behind what is done again
        goes_on "killed at $point, time $time"
    done
    [ "$once" ]
    result $? "$point was reached"
done

random=${RANDOM_CRASHES:-6}
[ "${CRASHES:-part}" = all ] && random=${RANDOM_CRASHES:-300}
RANDOM=${SEED:-1}
for ((kill = 0; kill < random; kill++)); do
    if [ $kill = $((random / 2)) ]; then # the second half: the other level, a store each of several shards
        watch+=(--level ser --threads 3)
        durable+=(--level ser --threads 3)
        "${watch[@]}" | sort >"$work/expected"
    fi
    for ((again = RANDOM % 4; again >= 0; again--)); do
        timeout --signal=KILL "0.$(printf %03d $((RANDOM % 400 + 5)))" "${durable[@]}" 2>>"$work/said"
        wait_for_children
    done
    # another bound, or none, from here on: what was done before is done again with that of then
    [ $((kill % 3)) = 0 ] && durable+=(--memory $((RANDOM % 2 * 3000000000)))
    goes_on "killed at random times, $kill"
    durable+=(--memory 4000000000)
done

durable+=(--threads 1)
# damaged NAME PATTERN COMMAND...: the state, once the command has been done to it, is refused by a run and by verify.
damaged() {
    local name=$1 pattern=$2 status needed=0 commit=3 try
    shift 2
    for ((try = 0; try < 30 && needed <= 4096; try++)); do # what is in the file by then, and how many commits there are, is the threads' choice
        rm -rf "$work/state" "$work/lines"
        if crashed after-commit:$commit; then
            needed=$("$isochron" state show "$work/state" | sed -n 's/^spill-0: .* \([0-9]*\) needed$/\1/p')
            commit=$((commit + 1))
        else
            commit=3 needed=0
        fi
    done
    "$@"
    "$isochron" state verify "$work/state" >"$work/told" 2>&1
    [ $? = 4 ] && grep -q "$pattern" "$work/told"
    result $? "verify notices $name" || sed 's/^/# /' "$work/told"
    "${durable[@]}" >"$work/told" 2>&1
    status=$?
    # a record that nobody asks for before the next snapshot is not read; the verdicts are right then
    if [ $status = 1 ]; then
        cmp -s "$work/expected" <(sort "$work/lines")
    else
        [ $status = 4 ] && grep -q 'spill-0' "$work/told"
    fi
    result $? "a run notices $name, or needs nothing of it" || sed "s/^/# $status /" "$work/told"
}
overwrite() {
    local size
    size=$(stat -c %s "$work/state/spill-0")
    head -c "$size" /dev/zero >"$work/state/spill-0"
}
damaged "a missing file" 'spill-0: .*cannot be opened' rm "$work/state/spill-0"
damaged "a file that was cut" 'spill-0: .*was cut' truncate -s 4096 "$work/state/spill-0"
damaged "a file of zeros" 'spill-0: damaged at byte' overwrite

# A bound that only the second run of three had: the third has none, and sends to the store what the second had sent there. How much
# was read by then is the threads' choice; a fourth goes on from it, unless that was all.
unset ISOCHRON_SPILL_ALL
durable+=(--memory 0 --snapshot-after 1000000000)
bounded=("${durable[@]}" --memory 1000000)
for ((records = 0, try = 0; records == 0 && try < 20; try++)); do
    rm -rf "$work/state" "$work/lines"
    ISOCHRON_CRASH=after-feed:1 "${durable[@]}" 2>/dev/null
    wait_for_children
    ISOCHRON_CRASH=after-feed:$((2 + RANDOM % 3)) "${bounded[@]}" 2>/dev/null
    wait_for_children
    ISOCHRON_CRASH=after-commit:1 "${durable[@]}" --snapshot-after 1 2>/dev/null
    wait_for_children
    records=$("$isochron" state show "$work/state" | sed -n 's/^spill-0: \([0-9]*\) records.*/\1/p')
    "${durable[@]}" 2>"$work/said"
    status=$?
    ! grep -q 'this run has ended' "$work/said" || records=0
done
[ "${records:-0}" -gt 0 ]
result $? "what a bound did is done again where it is no more"
# The same violations; where the bound was too small for it, not who wrote what was read. Where so much came without a watermark that some of
# it was closed early, no other ones that are certain, and maybe none.
ids() { grep -v '"doubtful":"memory"' "$1" | grep -o '^{"id":"[0-9a-f]*"' | sort; }
if grep -q '"doubtful":"memory"' "$work/lines"; then
    [[ $status = [13] && -z $(comm -13 <(ids "$work/expected") <(ids "$work/lines")) ]]
else
    [ $status = 1 ] && cmp -s <(ids "$work/expected") <(ids "$work/lines")
fi && [ ! -s "$work/said" ]
result $? "and a run without a bound says nothing of one" || sed "s/^/# $status /" "$work/said"
rm -rf "$work/state" "$work/lines"

# Rows that come and go have values that repeat: a write of one that is not taken may be what was read.
unset ISOCHRON_SPILL_ALL
stop_broker
rm "$work/hold" "$work/address"
start_broker rows:3
"$isochron" gen --txns 20000 --ops 4 --tables 8 --keys 70000 --watermarks 40 --delay 20 --deviation 10 -X batch.num.messages=40 --to kafka:rows \
    -X bootstrap.servers="$address" --quiet
short=("$isochron" watch --source history:rows --until-eof --quiet --final-only --finality-timeout 0 -X bootstrap.servers="$address" --memory 64M)
accused=0 doubtful=0
for ((try = 0; try < 4; try++)); do
    rm -rf "$work/state"
    "${short[@]}" --state "$work/state" >"$work/lines" 2>"$work/said"
    [ $? = 3 ] || accused=1
    grep -q '"doubtful":"memory"' "$work/lines" && doubtful=1
done
[ $accused = 0 ] && [ $doubtful = 1 ]
result $? "where memory was short nobody is accused by what was not taken" || tail -3 "$work/said" | sed 's/^/# /'
plan "$number"
