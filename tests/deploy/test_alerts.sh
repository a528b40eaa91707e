#!/bin/bash
# Prometheus rules and Grafana's dashboard against the metrics that the program really has. TAP on stdout.
set -u
cd "$(dirname "$0")/../.." || exit 4
work=$(mktemp -d)
number=0
. tests/support/tap.sh
program=$(realpath "${ISOCHRON:-build/isochron}")
watch=
trap 'exec 3>&-; [ -z "$watch" ] || kill "$watch" 2>/dev/null; wait; rm -rf "$work"' EXIT

skip() { # NAME REASON
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

plan 7
rules=deploy/prometheus/rules.yml dashboard=deploy/grafana/dashboard.json

# The metrics are those of a running watch, so that names, labels and help are what Prometheus would see.
mkfifo "$work/broker.in"
"$(dirname "$program")/embedded-broker" t:1 <"$work/broker.in" >"$work/address" &
exec 3>"$work/broker.in"
for _ in $(seq 200); do [ -s "$work/address" ] && break; sleep 0.05; done
printf '%s\n' '{"tid":1,"sid":1,"sts":10,"cts":20,"ops":[{"t":"w","k":"x","v":1}]}' '{"watermark":"15"}' |
    kcat -b "$(cat "$work/address")" -P -t t -p 0 2>/dev/null
: >"$work/said"
"$program" watch --source history:t --listen 127.0.0.1:0 --memory 1G -X bootstrap.servers="$(cat "$work/address")" \
    >"$work/lines" 2>"$work/said" &
watch=$!
for _ in $(seq 200); do
    page=$(sed -n 's#.*status page on \(http://[^ ]*\)/$#\1#p' "$work/said")
    [ -n "$page" ] && curl -sS -m 5 "$page/metrics" >"$work/metrics" 2>"$work/curl" && grep -q '^isochron_transactions_total 1' "$work/metrics" && break
    sleep 0.05
done
grep -q '^isochron_build_info' "$work/metrics"
result $? "a running watch has metrics" || sed 's/^/# /' "$work/said" "$work/curl"

# Those of the table, and not only of this run, which has no watermark.
grep -o '"isochron_[a-z_]*"' src/metrics/metrics.c | tr -d '"' | sort -u >"$work/table"
grep -v '^#' "$work/metrics" | grep -o '^isochron_[a-z_]*' | sort -u | comm -23 - "$work/table" >"$work/strange"
[ ! -s "$work/strange" ] && [ -s "$work/metrics" ]
result $? "all of them are in the table" || sed 's/^/# /' "$work/strange"
jq -r '.. | .expr? // empty, (.query?.query? // empty)' "$dashboard" >"$work/expressions"
sed 's/^ *#.*//' "$rules" | cat - "$work/expressions" | grep -o 'isochron_[a-z_]*' | sort -u | comm -23 - "$work/table" >"$work/unknown"
[ ! -s "$work/unknown" ] && [ -s "$work/expressions" ]
result $? "rules and dashboard name only metrics of the table" || sed 's/^/# /' "$work/unknown"

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
