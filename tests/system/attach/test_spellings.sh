#!/bin/bash
# connectors/*/spellings.tsv: what a client's spelling of each type comes to, judged end to end; the connectors' READMEs say the same.
. "$(dirname "$0")/common.sh"

# Which of the tables t0, t1, ... hold, which have a spelling that is not judged, which another value.
outcomes='def table: capture("(^|[.])(?<table>t[0-9]+)").table;
    ([.spellings[]?.column] + [$errors | scan("isochron: (.+?): what the stream does not say")[]]) as $unjudged
    | (reduce $unjudged[] as $column ({}; .[$column | table] = "unjudged")) as $some
    | (reduce .violations[] as $of ($some; .[$of.key | table] = "another")) as $all
    | range($count) | $all["t\(.)"] // "equal"'

open_table() { # CONNECTOR [DATABASE]: sets connector, readme and count, and writes its lines, or those of one database
    connector=$1
    readme=$root/connectors/$connector/README.md
    grep -v '^#' "$root/connectors/$connector/spellings.tsv" | awk -F'\t' -v database="${2:-}" 'database == "" || $1 == database' >"$scratch/lines"
    count=$(wc -l <"$scratch/lines")
}

judge() { # NAME SPELLER COLUMN JQ-OPTION...: of the capture that jq makes, COLUMN says what comes out
    local name=$1 who=$2 column=$3
    jq -nRc --argjson who "$who" "${@:4}" "$scratch/lines" >"$scratch/capture.jsonl"
    "$ISOCHRON" replay --json --max-violations 0 "${sources[@]}" --source history:readers "$scratch/capture.jsonl" >"$scratch/verdict.json" 2>"$scratch/errors"
    jq -r --rawfile errors "$scratch/errors" --argjson count "$count" "$outcomes" "$scratch/verdict.json" >"$scratch/found"
    cut -f "$column" "$scratch/lines" >"$scratch/wanted"
    paste <(cut -f 1-2,4-6 "$scratch/lines") "$scratch/wanted" "$scratch/found" | awk -F'\t' '$6 != $7' >"$scratch/differences"
    jq -e --argjson count "$count" '.reads_judged + .reads_unjudged == $count' "$scratch/verdict.json" >"$scratch/counted" &&
        [ ! -s "$scratch/differences" ] && [ "$(wc -l <"$scratch/found")" = "$count" ]
    conclude $? "$connector: $name" "$scratch/differences" "$scratch/errors"
}

# The README's table that begins with this name has the lines that awk makes of the table.
same_table() { # NAME AWK-STATEMENTS
    awk -F'\t' -v name="$1" 'function both(server, python) { return server == python ? server : server ", " python } $1 == name { '"$2"' }' "$scratch/lines" >"$scratch/wanted"
    awk -v name="| $1 | " 'index($0, name) == 1 { inside = 1; next } !/^\|/ { inside = 0 } inside && !/^\|---/' "$readme" >"$scratch/found"
    [ -s "$scratch/wanted" ] && diff "$scratch/found" "$scratch/wanted" >"$scratch/differences"
    conclude $? "$connector: README.md has $1's types as they are" "$scratch/differences"
}

# ---- Debezium: with schemas and without ----

for database in PostgreSQL MariaDB; do
    open_table debezium $database
    sources=()
    for ((i = 0; i < count; i++)); do sources+=(--source "debezium:p.public.t$i,value=c"); done
    made=(--arg database $database -f "$attach/spellings.jq")
    judge "$database's own text, with schemas" 4 7 --argjson schemas true "${made[@]}"
    judge "$database and Python's text, with schemas" 5 8 --argjson schemas true "${made[@]}"
    judge "$database's own text, without schemas" 4 9 --argjson schemas false "${made[@]}"
    judge "$database and Python's text, without schemas" 5 10 --argjson schemas false "${made[@]}"
    same_table $database 'printf "| %s | `%s` | `%s` | `%s` | %s | %s | %s |\n", $2, $5, $6, $4, both($7, $8), both($9, $10), $11 == "-" ? "" : $11'
done

# ---- TiCDC, Dgraph ----

for connector in ticdc dgraph; do
    open_table $connector
    sources=(--source "$connector:changes$([ $connector = dgraph ] || echo ,value=c)")
    judge "the server's text" 4 7 -f "$attach/spellings_$connector.jq"
    judge "Python's text" 5 8 -f "$attach/spellings_$connector.jq"
    same_table "$(cut -f 1 "$scratch/lines" | head -1)" 'printf "| %s | `%s` | `%s` | `%s` | %s | %s |\n", $2, $5, $6, $4, both($7, $8), $9 == "-" ? "" : $9'
done

echo "1..$number"
