#!/bin/bash
# READ COMMITTED, PostgreSQL's default, on a real server through Debezium: it is not snapshot isolation, and what it promises holds
# (--level rc), with a snapshot of each statement, with that of the first one, and with none; live, too, where there are snapshots. A stale read
# that is planted is found. TAP on stdout.
#
#   ISOCHRON=build/isochron WORKLOAD=build/postgres-workload tests/system/postgres/committed.sh [TRANSACTIONS]   of each run, 1000
set -u
here=$(cd "$(dirname "$0")" && pwd)
isochron=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
workload=$(realpath "${WORKLOAD:-$here/../../../build/postgres-workload}")
many=${1:-1000}
work=$(mktemp -d)
chmod 755 "$work" # PostgreSQL's user must get in
number=0
. "$here/chain.sh"
. "$here/../../support/tap.sh"
. "$here/../../support/verdict.sh"
plan 14

stop_all() {
    jobs -p | xargs -r kill 2>/dev/null
    chain_stop
    [ -n "${KEEP:-}" ] && echo "# kept in $work" || rm -rf "$work"
}
trap stop_all EXIT

connector_options() {
    :
}
create_options() {
    :
}
change_statement() {
    echo "INSERT INTO kv VALUES (0, 1) ON CONFLICT (k) DO UPDATE SET v = kv.v + 1"
}

run() { # database options...
    local database=$1
    shift
    "$workload" --connect "$server dbname=$database" --transactions "$many" --isolation 'read committed' -o "$work/$database.clients" \
        "$@" >"$work/$database.tally"
}

sources_of() { # database
    sources=(--source "debezium:$1.public.kv,value=v,identity=full" --source "debezium:$1.public.acct,value=v,identity=full"
        --source "debezium:$1.public.plain,value=v,identity=default" --source "debezium:$1.transaction")
}

chain_start first each
result $? "PostgreSQL, Kafka and Connect with Debezium run" || exit 1
chain_drain "${databases[@]}"
run first && run each --statement-snapshots
result $? "sessions run at READ COMMITTED"
chain_drain "${databases[@]}"
echo "# everything is on Kafka after $SECONDS s"

sources_of first
judge first --history "$work/first.clients" --to-history "$work/first.jsonl"
is first '1 true' '.counts.EXT > 0 and .counts.CDC == 0' "with the first statement's snapshot it is not snapshot isolation"
check first.rc --level rc "$work/first.jsonl"
is first.rc '0 ["holds",[]]' "$verdict_and_counts" "but READ COMMITTED"
is first.rc '0 ["chronos",true]' "[.engine, .reads_judged > $many]" "by its positions"
judge first.live --history "$work/first.clients" --level rc
is first.live "0 [\"holds\",$(jq .reads_judged "$work/first.rc")]" '[.verdict, .reads_judged]' "and live, of as many reads"

sources_of each
judge each --history "$work/each.clients" --to-history "$work/each.jsonl"
check each.rc --level rc "$work/each.jsonl"
is each.rc '0 ["holds",[],true]' '[.verdict, (.counts | to_entries | map(select(.value > 0).key)), .per_operation]' \
    "with the snapshots of statements too"
judge each.live --history "$work/each.clients" --level rc
is each.live "0 [\"holds\",$(jq .reads_judged "$work/each.rc")]" '[.verdict, .reads_judged]' "and live"

# Without any snapshot a transaction began after what its session had committed before.
sed 's/"sts":[0-9]*,//; s/"snapshot":"[^"]*",\?//' "$work/first.jsonl" >"$work/none.jsonl"
check none.chronos --level rc --engine chronos "$work/none.jsonl"
is none.chronos '0 ["holds",[]]' "$verdict_and_counts" "and with no snapshot at all"
check none.rc --level rc "$work/none.jsonl"
[ "$(jq -r .verdict "$work/none.rc")" != violated ]
result $? "nor does any order say otherwise ($(jq -r .verdict "$work/none.rc"))"

# Of a key that many wrote somebody read what was there at first.
for level in each first; do
    python3 - "$work/$level.jsonl" "$work/$level.lie" <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
written, old = {}, {}
for t in sorted((t for t in lines if t.get("status", "committed") == "committed" and "cts" in t), key=lambda t: int(t["cts"])):
    for o in t["ops"]:
        if o["t"] == "w":
            written.setdefault(o["k"], []).append(int(t["cts"]))
            old.setdefault(o["k"], o["v"])
for t in lines:
    reads = [o for o in t["ops"] if o["t"] == "r"]
    if t.get("status", "committed") != "committed" or "sts" not in t or not reads or t["ops"][0]["t"] != "r":
        continue
    o = t["ops"][0]
    if not o["k"].startswith("public.kv/"): # whose values are written once
        continue
    if sum(c <= int(t["sts"]) for c in written.get(o["k"], [])) > 5:
        o["v"] = old[o["k"]]
        json.dump({"tid": t["tid"], "v": o["v"]}, open(sys.argv[2] + ".what", "w"))
        break
with open(sys.argv[2], "w") as out:
    for t in lines:
        out.write(json.dumps(t) + "\n")
END
    check "$level.lie.rc" --level rc "$work/$level.lie"
    is "$level.lie.rc" '1 [1,"stale"]' '[.counts.EXT, .violations[0].kind]' "a stale read that is planted is found ($level)"
    jq -c --slurpfile lie "$work/$level.lie.what" '
        if (.tid | tostring) == ($lie[0].tid | tostring) then (first(.ops[] | select(.t == "r")) | .v) = $lie[0].v else . end' \
        "$work/$level.clients" >"$work/$level.lying"
    sources_of "$level"
    judge "$level.lie.live" --history "$work/$level.lying" --level rc
    is "$level.lie.live" '1 1' .counts.EXT "and live ($level)"
done
echo "# all in $SECONDS s"
