#!/bin/bash
# Every source is as clang-format-14 would write it (.clang-format); `make format` does so. What was found to be so is remembered by its
# content, in the folder of the build, so that only what changed is looked at again.
cd "$(dirname "$0")/.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
known=${BUILD:-build}/formatted
echo "1..2"
# Comments are broken by hand: a formatter that does it tears their tables apart. Strings may be longer, so that a message can be found.
find include src connectors -name '*.[ch]' -print0 | xargs -0 awk 'length > 100 && !/"/ { print "# " FILENAME ":" FNR }' >"$work/long"
if [ -s "$work/long" ]; then
    cat "$work/long"
    echo "not ok 1 - no line of the sources is longer than 100 columns"
else
    echo "ok 1 - no line of the sources is longer than 100 columns"
fi
if ! command -v clang-format-14 >/dev/null; then
    echo "ok 2 - sources are formatted # SKIP there is no clang-format-14"
    exit
fi
style=$({ clang-format-14 --version; cat .clang-format; } | sha256sum | cut -c1-16)
find include src connectors tests bench -name '*.[ch]' -print0 | xargs -0 sha256sum | sed "s/^/$style /" | LC_ALL=C sort >"$work/all"
mkdir -p "$(dirname "$known")" && touch "$known"
LC_ALL=C comm -23 "$work/all" "$known" | cut -c84- >"$work/changed"
if xargs -r -a "$work/changed" -d '\n' -n 50 -P "$(nproc)" clang-format-14 --dry-run --Werror 2>"$work/errors"; then
    mv "$work/all" "$known"
    echo "ok 2 - sources are formatted"
else
    grep 'error:' "$work/errors" | cut -d: -f1 | sort | uniq -c | sed 's/^/# /'
    echo "not ok 2 - sources are formatted: make format"
fi
