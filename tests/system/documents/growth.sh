#!/bin/bash
# Fails on a commit that makes the sources more than 2,000 lines longer and does not say what it replaces: a line of its message that begins
# with "Replaces:" says what goes with it, what will, or why nothing can. Prints one line a fault, and exits 1.
#
#   growth.sh [ROOT [FIRST]]     the repository to look at, this one by default; commits behind FIRST, by default behind the one that brought
#                                this check. What is no repository, or does not have that commit (an archive, a shallow clone), has no faults
set -u
root=${1:-$(cd "$(dirname "$0")/../../.." && pwd)}
cd "$root" || exit 4
most=2000
first=${2:-$(git log --diff-filter=A --format=%H -- tests/system/documents/growth.sh 2>/dev/null | tail -1)}
[ -n "$first" ] && git cat-file -e "$first^{commit}" 2>/dev/null || exit 0
git log --no-merges -M --numstat --format='commit %h %s' "$first..HEAD" -- src connectors include | awk -v most="$most" '
function close_commit() { if (added > most) print commit, added, title }
$1 == "commit" { close_commit(); commit = $2; added = 0; title = substr($0, index($0, $3)); next }
NF >= 3 { added += $1 - $2 }
END { close_commit() }' | {
    faults=0
    while read -r commit added title; do
        git log -1 --format=%B "$commit" | grep -q '^Replaces: .' && continue
        echo "$commit: $added lines more, and no line \"Replaces: ...\" in its message: $title"
        faults=1
    done
    exit $faults
}
