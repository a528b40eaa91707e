#!/bin/bash
# Prometheus rules and Grafana's dashboard against the metrics that the program really has. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
work=$(mktemp -d)
number=0
. tests/support/tap.sh
program=$(realpath "${ISOCHRON:-build/isochron}")
. tests/system/deploy/live.sh
trap 'live_end; rm -rf "$work"' EXIT

plan 9
rules=deploy/prometheus/rules.yml dashboard=deploy/grafana/dashboard.json

# The metrics are those of a running watch, so that names, labels and help are what Prometheus would see.
live_watch --memory 1G --state "$work/state"
for _ in $(seq 2400); do
    curl -sS -m 5 "http://$listen/metrics" >"$work/metrics" 2>"$work/curl" && grep -q '^isochron_watermark 15' "$work/metrics" && break
    sleep 0.05
done
grep -q '^isochron_build_info' "$work/metrics"
result $? "a running watch has metrics" || sed 's/^/# /' "$work/said" "$work/curl"

grep -o '"isochron_[a-z_]*"' src/presentation/metrics/rows.h | tr -d '"' | sort -u >"$work/table"
grep -v '^#' "$work/metrics" | grep -o '^isochron_[a-z_]*' | sort -u | comm -23 - "$work/table" >"$work/strange"
[ ! -s "$work/strange" ] && [ -s "$work/metrics" ]
result $? "all of them are in the table" || sed 's/^/# /' "$work/strange"
jq -r '.. | .expr? // empty, (.query?.query? // empty)' "$dashboard" >"$work/expressions"
sed 's/^ *#.*//' "$rules" | cat - "$work/expressions" | grep -o 'isochron_[a-z_]*' | sort -u | comm -23 - "$work/table" >"$work/unknown"
[ ! -s "$work/unknown" ] && [ -s "$work/expressions" ]
result $? "rules and dashboard name only metrics of the table" || sed 's/^/# /' "$work/unknown"

# An alert on a metric that is never there never fires. These come with a change stream, the first snapshot, and the first key on disk.
sed -e 's/^ *#.*//' -e '/description:/d' "$rules" | grep -o 'isochron_[a-z_]*' | sort -u >"$work/named"
grep -o '^isochron_[a-z_]*' "$work/metrics" | sort -u | comm -23 "$work/named" - >"$work/absent"
[ "$(echo $(cat "$work/absent"))" = "isochron_changes_time_seconds isochron_snapshot_age_seconds isochron_snapshot_gaps_total isochron_snapshots_again_total isochron_spill_disk_bytes isochron_tables_changed_total" ]
result $? "what the rules name is there while it runs" || sed 's/^/# /' "$work/absent"

# Who is woken finds what to look at, and nothing is promised that does not exist.
sed -n 's/^ *- alert: //p' "$rules" | sort >"$work/alerts"
grep '^| `Isochron' docs/operating.md | cut -d'|' -f2 | grep -o 'Isochron[A-Za-z]*' | sort | diff - "$work/alerts" >"$work/undocumented"
[ ! -s "$work/undocumented" ] && [ -s "$work/alerts" ]
result $? "docs/operating.md says of each alert once what to look at, and of no other" || sed 's/^/# /' "$work/undocumented"

if ! command -v promtool >/dev/null; then
    for name in metrics rules "rules fire" dashboard; do skip "$name" "there is no promtool"; done
    exit
fi
[ -s "$work/metrics" ] && promtool check metrics <"$work/metrics" >"$work/log" 2>&1
result $? "promtool accepts the metrics" || sed 's/^/# /' "$work/log"
promtool check rules "$rules" >"$work/log" 2>&1
result $? "promtool accepts the rules" || sed 's/^/# /' "$work/log"
promtool test rules deploy/prometheus/rules.test.yml >"$work/log" 2>&1
result $? "each alert fires when it should, and none when all is well" || sed 's/^/# /' "$work/log"
{
    printf 'groups:\n- name: dashboard\n  rules:\n'
    grep -v '^label_values' "$work/expressions" | sed 's/\$__rate_interval/5m/g; s/\$[a-z]*/x/g' | awk '{ gsub(/\047/, "\047\047"); printf "  - {record: \"panel%d\", expr: \047%s\047}\n", NR, $0 }'
} >"$work/panels.yml"
promtool check rules "$work/panels.yml" >"$work/log" 2>&1 && grep -q "SUCCESS: $(grep -c record "$work/panels.yml") rules" "$work/log"
result $? "promtool accepts the expressions of the dashboard" || sed 's/^/# /' "$work/log"
