#!/usr/bin/env python3
"""Counts the functions of ARCHITECTURE.md's four ways, in a build that notes its stacks.

   bench/ways.py FOLDER    where the traced build goes; make ways

Of each step the shortest stack from the way's first function to the step's; what is counted is all functions on those. Steps are those of
the tables, without a run's journal, which is not on the way to a verdict."""
import glob, os, subprocess, sys

HOOKS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define PLAIN __attribute__((no_instrument_function))
enum { DEEPEST = 1000, SEEN = 1 << 18 };
static __thread unsigned long stack[DEEPEST], seen[SEEN];
static __thread int depth, file, busy;
PLAIN void __cyg_profile_func_enter(void *function, void *caller)
{
    unsigned long digest = 1469598103934665603UL, at;
    char line[DEEPEST * 17 + 1];
    int length = 0;
    (void)caller;
    if (depth < DEEPEST)
        stack[depth] = (unsigned long)function;
    if (++depth > DEEPEST || busy || file < 0 || !getenv("STACKS"))
        return;
    for (int i = 0; i < depth; i++)
        digest = (digest ^ stack[i]) * 1099511628211UL;
    for (at = digest >> 20 & (SEEN - 1); seen[at] && seen[at] != digest;)
        at = (at + 1) & (SEEN - 1);
    if (seen[at])
        return;
    seen[at] = digest;
    busy = 1;
    if (!file) {
        snprintf(line, sizeof line, "%s.%d.%lx", getenv("STACKS"), getpid(), (unsigned long)&depth);
        file = open(line, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    }
    for (int i = 0; i < depth; i++)
        length += sprintf(line + length, "%lx ", stack[i]);
    line[length++] = '\n';
    if (write(file, line, (size_t)length) < 0)
        file = -1;
    busy = 0;
}
PLAIN void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function, (void)caller;
    depth -= depth > 0;
}
"""

ENGINE = """pipeline_add iso_aion_add aion_accept aion_group_add aion_take iso_aion_shard_apply aion_read aion_version aion_pending_advance
    aion_deliver pipeline_emit run_output_emit"""
# program, name, the first function (others begin behind the second), steps
WAYS = [
    ("isochron", "message", "feed_step", "", "iso_kafka_consumer_poll run_intake_feed iso_pipeline_feed pipeline_decode decode "
     "iso_native_read_transaction pipeline_advance " + ENGINE),
    ("isochron", "row", "feed_file", "", "iso_pipeline_feed pipeline_decode iso_change_source_decode take_change iso_join_take join_take_row "
     "join_check_complete join_finish iso_join_end_batch join_place join_emit_placed pipeline_drain iso_aion_watermark " + ENGINE),
    ("isochron", "line", "app_load_finished", "check_files", "iso_read_history piece_parse iso_native_read_transaction iso_history_finish "
     "iso_judge_finish iso_judge iso_judge_route iso_chronos_check chronos_sweep chronos_explain iso_verdict_conclude app_check_report "
     "iso_report_text"),
    ("isochron-proxy", "statement", "run_loop", "", "wire_read observed_client observed_server observed_begin_statement reading_begin "
     "observed_end_transaction iso_recorder_let_go"),
]

RUNS = r"""
set -u
build=$(realpath build) program=$folder/isochron work=$folder/work
recordings=$(realpath tests/data/recordings)
rm -rf "$work" && mkdir "$work" && cd "$work"
"$program" gen --quiet --txns 2000 --ops 4 --keys 100 --sessions 5 --anomaly stale-read:5 -o h.jsonl
STACKS=$work/line "$program" check --threads 2 h.jsonl
PATH=$build:$PATH
. "$root/tests/cli/data/broker.sh"
start_broker txns:1
"$program" gen --quiet --txns 2000 --ops 4 --keys 100 --sessions 5 --anomaly stale-read:5 --watermarks 50 --to kafka:txns \
    -X bootstrap.servers="$address"
STACKS=$work/message "$program" watch --source history:txns -X bootstrap.servers="$address" --until-eof
kill $broker
sed 's/"v\\": \\"[0-9.]*\\"/"v\\": \\"-1\\"/g' "$recordings/attach/snapshot_rows_after_watermark/capture.jsonl" >rows.jsonl
STACKS=$work/row "$program" replay --source debezium:rc1.public.accounts,value=balance,identity=full --source history:clients_a.rc1 rows.jsonl
zstd -dcq "$recordings/attach/in_band/capture.jsonl.zst" | sed '3,$s/\\"v\\":\( \?\)\([0-9]\)/\\"v\\":\19\2/g' >band.jsonl
STACKS=$work/row "$program" replay --source debezium:band.public.kv,value=v,identity=full --source debezium:band.public.acct,value=v,identity=full \
    --source debezium:band.public.plain,value=v,identity=default --source debezium:band.transaction --source debezium:band.message band.jsonl
here=$root/tests/system/proxy
. "$here/start.sh"
proxy=$folder/isochron-proxy
database_start
psql -q -p "$direct" -c "CREATE TABLE kv (k int PRIMARY KEY, v int)" -c "INSERT INTO kv SELECT g, g FROM generate_series(1, 9) g"
export STACKS=$folder/work/statement
proxy_start --to records.jsonl
unset STACKS
for i in 1 2 3; do
    psql -q -p "$through" -c "BEGIN ISOLATION LEVEL REPEATABLE READ" -c "SELECT * FROM kv WHERE k = 3" -c "UPDATE kv SET v = 7 WHERE k = 3" -c COMMIT
done
proxy_stop
"$here/../postgres/cluster.sh" stop "$work/postgres"
"""


def stacks_of(program, files, first, behind):
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.split("\n")
    names = {int(words[0], 16): words[2] for words in map(str.split, symbols) if len(words) == 3 and words[1] in "tT"}
    for file in files:
        for line in open(file):
            stack = [names.get(int(address, 16), address) for address in line.split()]
            if first in stack:
                yield stack[stack.index(first):]
            elif behind in stack:
                yield stack[stack.index(behind) + 1:]


def count(folder, program, way, first, behind, steps):
    stacks = list(stacks_of(f"{folder}/{program}", glob.glob(f"{folder}/work/{way}.*[0-9a-f]"), first, behind))
    found = [first]
    for step in steps.split():
        ways = [stack for stack in stacks if stack[-1:] == [step]]
        if not ways:
            print(f"{way}: {step} was not met", file=sys.stderr)
        shortest = min(ways, key=lambda stack: (len(set(stack) - set(found)), len(stack)), default=[])
        found += [function for function in dict.fromkeys(shortest) if function not in found]
    print(f"{way}: {len(found)} functions: {' '.join(found)}")


if len(sys.argv) != 2:
    sys.exit(__doc__)
folder = os.path.abspath(sys.argv[1])
os.makedirs(folder, exist_ok=True)
with open(f"{folder}/hooks.c", "w") as hooks:
    hooks.write(HOOKS)
subprocess.run(["gcc", "-O1", "-c", f"{folder}/hooks.c", "-o", f"{folder}/hooks.o"], check=True)
subprocess.run(["make", "-s", f"BUILD={folder}", "OPTIMISE=-O0", "WERROR=", f"LDFLAGS=-no-pie {folder}/hooks.o",
                "CFLAGS=-finstrument-functions -U_FORTIFY_SOURCE -fno-pie", "all"], check=True)
with open(f"{folder}/log", "w") as log:
    subprocess.run(["bash", "-c", RUNS], env=os.environ | {"folder": folder, "root": os.getcwd()}, stdout=log, stderr=log)
for way in WAYS:
    count(folder, *way)
