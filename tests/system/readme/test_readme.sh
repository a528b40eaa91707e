#!/bin/bash
# Every command of README and of the pages beside it, run as a reader would, with what the pages show; and every link within
# the repository leads somewhere. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
number=0
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pages=(*.md docs/*.md)

for page in "${pages[@]}"; do
    # Made from the option tables, with the examples that --help has: they name topics and files of nobody in particular.
    [ "$page" != docs/options.md ] || { echo "# not run: $page: made by make documents"; continue; }
    tests/system/readme/run_page.sh "$page" >"$work/tap"
    while IFS= read -r line; do
        case $line in
        "ok "*) result 0 "${line#*- }" ;;
        "not ok "*) result 1 "${line#*- }" ;;
        "#"*) echo "$line" ;;
        esac
    done <"$work/tap"
    grep -q '^1\.\.' "$work/tap" || result 1 "$page: ran to its end"
done

# Headings as the anchors that they get.
anchors() {
    sed -n 's/^##* //p' "$1" | tr 'A-Z' 'a-z' | sed -E 's/`//g; s/[^a-z0-9 _-]//g; s/ /-/g'
}
for page in "${pages[@]}"; do
    grep -v '^    ' "$page" | grep -oE '\]\([^)#: ]*(#[^) ]*)?\)' | sed 's/^](//; s/)$//' | sort -u | while read -r link; do
        file=${link%%#*} anchor=
        [[ $link == *#* ]] && anchor=${link#*#}
        target=$page
        [ -z "$file" ] || target=$(dirname "$page")/$file
        [ -e "$target" ] || { echo "# $page: $link"; continue; }
        [ -z "$anchor" ] || anchors "$target" | grep -qxF -e "$anchor" || echo "# $page: $link: no such heading"
    done
done >"$work/broken"
[ ! -s "$work/broken" ]
result $? "links lead somewhere" || cat "$work/broken"

# The test itself: pages that are wrong are not taken for good ones.
refused() { # what; the page on stdin
    cat >"$work/page.md"
    tests/system/readme/run_page.sh "$work/page.md" >"$work/tap"
    grep -q '^not ok' "$work/tap"
    result $? "a page is refused: $1" || cat "$work/tap"
}
printf '```console\n$ echo 1\n2\n```\n' | refused "it shows something else"
printf '```console\n$ printf "1\\n2\\n"\n1\n```\n' | refused "it shows less"
printf '```console\n$ false\n```\n' | refused "a command fails"
printf '```console\n$ false\n$ echo $?\n0\n```\n' | refused "it shows another exit status"
printf '```sh\necho 1\n```\n' | refused "commands in another block"
printf 'Try\n\n    isochron check h.jsonl\n' | refused "commands in no block"
printf '```console\n$ echo 1 2\n1\n...\n3\n```\n' | refused "dots do not stand for what follows them"
printf '```console\n$ cat <<END\n> a\n> b*\n> END\na\nb*\n$ false\n$ echo $?\n1\n$ printf "x\\ny\\nz\\n"\nx\n...\nz\n$ echo so 0.25 s, more\nso 1.5 s, ...\n```\n' >"$work/page.md"
tests/system/readme/run_page.sh "$work/page.md" >"$work/tap"
! grep -q '^not ok' "$work/tap" && [ "$(grep -c '^ok' "$work/tap")" = 6 ]
result $? "and one that is right is not" || cat "$work/tap"
echo "1..$number"
