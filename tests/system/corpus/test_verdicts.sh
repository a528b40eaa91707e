#!/bin/bash
# The corpus's histories in all formats: every verdict of VERDICTS.tsv at both levels, with the format told by content, and
# each verdict's evidence confirmed by `isochron verify`. Every tenth dbcop history, and all others; all of them if
# EFFORT=long. RESULTS/verdicts-FLAVOUR.tsv (after `make nightly` build/results/verdicts-release.tsv has the whole corpus) has a
# row for each: verdict, what its evidence is ("order", a finding's name, or how many lemmas), times and sizes. Sums by
# folder, and the dearest, stand at the end of the output.
. "$(dirname "$0")/common.sh"
corpus=$SHARED/corpus
table=${RESULTS:-${BUILD:-$root/build}/results}/verdicts-${FLAVOUR:-check}.tsv
if [ ! -e "$corpus/VERDICTS.tsv" ]; then
    echo "ok 1 - verdicts of the corpus # SKIP there is no ../shared"
    echo "1..1"
    exit 0
fi
mkdir -p "$(dirname "$table")"
printf 'path\tlevel\tverdict\tevidence\ttransactions\tload s\tcheck s\tverify s\tevidence bytes\n' >"$table"
rows=0

# What evidence consists of: by its second line, behind the header.
kind_of() { # EVIDENCE
    local line
    line=$(sed -n '2{p;q}' "$1")
    case $line in
    '{"order"'*) echo order ;;
    '{"finding":"'*) line=${line#'{"finding":"'}; echo "${line%%\"*}" ;;
    '{"lemma"'*) echo "$(grep -c '^{"lemma"' "$1") lemmas" ;;
    *) echo nothing ;;
    esac
}

# Sets `found` to the verdict, or to what was wrong with it, and appends a row to the table.
judge() { # PATH LEVEL
    local status evidence=$scratch/evidence.jsonl started row
    rm -f "$evidence"
    "$ISOCHRON" check --engine polygraph --json --timeout 500 --level "$2" --evidence "$evidence" "$corpus/$1" \
        >"$scratch/verdict.json" 2>"$scratch/errors"
    status=$?
    if [ $status = 2 ]; then
        found=refuse
        return
    fi
    # A start of jq takes longer than most of these histories.
    [[ $(<"$scratch/verdict.json") =~ \"verdict\":\"([a-z]+)\".*\"transactions\":([0-9]+).*\"seconds\":\{\"load\":([0-9.e+-]+).*\"check\":([0-9.e+-]+) ]] || {
        found="no verdict"
        return
    }
    found=${BASH_REMATCH[1]} row=${BASH_REMATCH[2]}$'\t'${BASH_REMATCH[3]}$'\t'${BASH_REMATCH[4]}
    case $found:$status in
    holds:0 | violated:1) ;;
    *) found="$found and exit $status"; return ;;
    esac
    started=${EPOCHREALTIME/[.,]/}
    if ! "$ISOCHRON" verify "$corpus/$1" "$evidence" >"$scratch/confirmed" 2>&1; then
        found="$found, evidence $(head -1 "$scratch/confirmed")"
        return
    fi
    rows=$((rows + 1))
    printf '%s\t%s\t%s\t%s\t%s\t%d.%06d\t%s\n' "$1" "$2" "$found" "$(kind_of "$evidence")" "$row" \
        $(((${EPOCHREALTIME/[.,]/} - started) / 1000000)) $(((${EPOCHREALTIME/[.,]/} - started) % 1000000)) \
        "$(stat -c %s "$evidence")" >>"$table"
}

number=0 skipped=0 dbcop=0
while IFS=$'\t' read -r path format ser si; do
    case $format in format | timekiller) continue ;; esac # timekiller's have timestamps: test_captures.sh
    if [ "$format" = dbcop ] && [ "${EFFORT:-short}" != long ] && [ $((dbcop++ % 10)) != 0 ]; then
        skipped=$((skipped + 1))
        continue
    fi
    for level in ser si; do
        expected=${!level}
        judge "$path" "$level"
        case $expected:$found in
        -:holds | -:violated) report 0 "$path at $level: $found" ;;
        "$found:$found") report 0 "$path at $level: $found" ;;
        *)
            report 1 "$path at $level: expected $expected, got $found"
            sed 's/^/# /' "$scratch/errors"
            ;;
        esac
    done
done <"$corpus/VERDICTS.tsv"

# Sums by folder and level, and the dearest history of each: seconds to load, to check (both by the program's own clock), to
# verify (whole process).
awk -F'\t' '
NR > 1 {
    split($1, part, "/")
    row = part[1] "/" part[2] "\t" $2
    if (!(row in histories)) rows[++count] = row
    histories[row]++; transactions[row] += $5; load[row] += $6; check[row] += $7; verify[row] += $8
    if ($7 >= worst[row]) { worst[row] = $7; dearest[row] = $1 }
    kind = $4 ~ / / ? "lemmas" : $4
    if (!(kind in kinds)) names[++named] = kind
    kinds[kind]++; bytes[kind] += $9
    if ($9 >= largest[kind]) largest[kind] = $9
}
END {
    printf "# %-24s %-4s %9s %12s %9s %9s %9s  %s\n", "folder", "at", "histories", "transactions", "load s", "check s", "verify s", "dearest to check"
    for (i = 1; i <= count; i++) {
        row = rows[i]
        split(row, part, "\t")
        printf "# %-24s %-4s %9d %12d %9.3f %9.3f %9.3f  %.3f s %s\n", part[1], part[2], histories[row], transactions[row],
            load[row], check[row], verify[row], worst[row], dearest[row]
    }
    printf "# %-24s %9s %14s %14s\n", "evidence", "verdicts", "bytes in all", "largest"
    for (i = 1; i <= named; i++)
        printf "# %-24s %9d %14d %14d\n", names[i], kinds[names[i]], bytes[names[i]], largest[names[i]]
}' "$table"
echo "# each verdict with its times: $table"
[ "$rows" -ge 100 ] && ! grep -q $'\tnothing\t' "$table"
report $? "$rows verdicts in the table, each with its evidence"
[ $skipped = 0 ] || echo "# skipped: $skipped dbcop histories; EFFORT=long takes all"
[ "$number" -ge 100 ] || report 1 "the table names a hundred verdicts"
echo "1..$number"
