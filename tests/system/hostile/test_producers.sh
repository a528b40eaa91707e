#!/bin/bash
# Producers that are clumsy or mean no good, at sizes that a test can afford: output is bounded, what is not listed is counted, and the
# counts are those of the offline engine. large.sh has them at sizes that hurt. TAP on stdout.
. "$(dirname "$0")/common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 4
plan 48

for mode in $modes; do
    [ $mode = list ] && size=300 || size=2400
    make $mode $size || exit 4
    for level in si ser; do
        judge $level && is_bounded && adds_up && counts_agree $level
        result $? "$mode, $level"
    done
done

make overlap 600
judge si --max-per-key 5 && [ "$(grep -c '"state":"final"' lines)" = 5 ] && adds_up && grep -q '"state":"unlisted".*"count":179695}' lines
result $? "a key lists as many as --max-per-key says, and then how many more"
judge si --max-per-key 0 && [ "$(grep -c '"state":"final"' lines)" = 179700 ] && ! grep -q unlisted lines
result $? "0 lists all"
judge si --max-per-key 7 --explain && grep -q '^179,\?700 violations\|179700 violations' words && [ -s lines ]
result $? "in words, too"
"$program" check --max-violations 0 --max-per-key 5 history.jsonl | tail -1 | grep -q '^179695 more violations are not listed'
result $? "of a finished history likewise"
make sno_noscend 1200
judge si --max-per-key 5 && [ "$(grep -c '"state":"final"' lines)" = 5 ] && grep -q '"axiom":"SESSION","session":"1","count":1194}' lines
result $? "so does a session"
for seed in 1 2; do
    ISOCHRON_HASH_SEED=$seed "$program" replay --source history:txns --quiet capture.jsonl >lines-$seed
done
cmp -s lines-1 lines-2 && [ -s lines-1 ]
result $? "what is told does not depend on the seed of the hashes"
