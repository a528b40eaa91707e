#!/bin/bash
# Fails on an old name of docs/renames.tsv that the sources still use. Prints one line a fault, and exits 1.
#
#   renames.sh [ROOT]     the tree to look at, this repository by default
#
# A line is: old name, new name, and (optional) the folder or file where the name meant that; without one the old name may stand nowhere in
# src, connectors and include. Names of C are compared as whole words, in code and in comments.
set -u
root=${1:-$(cd "$(dirname "$0")/../../.." && pwd)}
cd "$root" || exit 4
table=docs/renames.tsv
awk -F '\t' '
function fault(text) { print FILENAME ":" FNR ": " text; faults++ }
FNR == 1 { if ($0 != "old\tnew\twhere") fault("the first line is not old, new, where"); next }
NF < 2 || NF > 3 || $1 == "" || $2 == "" { fault("not: old, new, where"); next }
$1 !~ /^[A-Za-z_][A-Za-z0-9_]*$/ || $2 !~ /^[A-Za-z_][A-Za-z0-9_]*$/ { fault("not two names of C: " $1 ", " $2); next }
seen[$1, $3]++ { fault($1 " was renamed before") }
$1 == $2 { fault($1 " is its own new name") }
END { exit faults > 0 }' "$table"
faults=$?
names=$(mktemp)
trap 'rm -f "$names"' EXIT

# One pass over the sources gathers every use of an old name; then each use is asked whether it lies where the name had been.
folders=()
for folder in src connectors include; do [ -d "$folder" ] && folders+=("$folder"); done
[ ${#folders[@]} -gt 0 ] || { echo "$root: no sources"; exit 4; }
tail -n +2 "$table" | cut -f1 | sort -u >"$names"
grep -rnowFf "$names" --include='*.[ch]' "${folders[@]}" | sort -t: -k1,1 -k2,2n | awk -F '\t' -v table="$table" '
BEGIN {
    while ((getline line < table) > 0) {
        split(line, part, "\t")
        n = ++count[part[1]]
        renamed[part[1], n] = part[2]
        where[part[1], n] = part[3]
    }
}
{
    split($0, use, ":")
    for (i = 1; i <= count[use[3]]; i++)
        if (index(use[1], where[use[3], i]) == 1) {
            print use[1] ":" use[2] ": " use[3] " is now " renamed[use[3], i]
            faults++
        }
}
END { exit faults > 0 }' || faults=1
tail -n +2 "$table" | cut -s -f3 | sort -u | while read -r path; do
    [ -z "$path" ] || [ -e "$path" ] || { echo "$table: there is no $path"; exit 1; }
done || faults=1
exit $faults
