# What the tests of hostile and clumsy producers share. The working directory is theirs.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
. "$here/../../support/tap.sh"
number=0
modes="onetx onetxreads sno sno_noscend samesno eq eqw overlap giant inverted desc readers keys unknown unknownread outcomes list stalelist joined_overlap joined_stale joined_absent"
sources="--source history:txns"

# MODE N: the capture, and the transactions in it as a history: of rows that no client told of they are those of one who writes only.
make() {
    sources="--source history:txns"
    [ "${1#joined}" = "$1" ] || sources="--source dgraph:dgraph-cdc --source history:txns"
    python3 "$here/complexity.py" "$1" "$2" >capture.jsonl && jq -r 'select(.topic == "txns").payload' capture.jsonl >history.jsonl || return
    case $1 in joined_stale | joined_absent)
        jq -c 'select(.topic != "txns") | .payload | fromjson | {tid: "row\(.meta.commit_ts)", sid: "row\(.meta.commit_ts)", sts: (.meta.commit_ts - 1), cts: .meta.commit_ts,
            ops: [{t: "w", k: "v/0x1", v: .event.value}]}' capture.jsonl >>history.jsonl ;;
    esac
}

# LEVEL: replays capture.jsonl into `lines` and `words`.
judge() {
    "$program" replay $sources --final-only --level "$1" "${@:2}" capture.jsonl >lines 2>words
    [ $? -le 3 ] || return 1
}

# At most ten times what came in (and a page), each id final once.
is_bounded() {
    local in out
    in=$(stat -c %s capture.jsonl) out=$(stat -c %s lines)
    [ "$out" -le $((10 * in + 4096)) ] || { echo "# $in bytes in, $out out"; return 1; }
    [ -z "$(grep -o '^{"id":"[0-9a-f]*","state":"[a-z]*"' lines | sort | uniq -d | head -1)" ] || { echo "# an id is told twice"; return 1; }
}

# What is listed and what is not are together what is counted.
adds_up() {
    local counted told
    counted=$(grep -o '[0-9,]* violations\?' words | head -1 | tr -dc 0-9)
    told=$(jq -n '[inputs | .count // 1] | add // 0' lines)
    [ "$counted" = "$told" ] || { echo "# counted $counted, told $told"; return 1; }
}

# LEVEL: the online engine counts what the offline one does.
counts_agree() {
    local counts
    mapfile -t counts < <({
        "$program" replay $sources --quiet --json --level "$1" capture.jsonl
        "$program" check --quiet --json --level "$1" history.jsonl
    } | jq -c '[.verdict, .reason, .counts, .reads_judged]')
    [ ${#counts[@]} = 2 ] && [ "${counts[0]}" = "${counts[1]}" ] || { printf '# online, then offline: %s\n' "${counts[@]}"; return 1; }
}
