#!/bin/bash
# Every source is as clang-format-14 would write it (.clang-format); `make format` does so.
cd "$(dirname "$0")/.." || exit 4
errors=$(mktemp)
echo "1..1"
if ! command -v clang-format-14 >/dev/null; then
    echo "ok 1 - sources are formatted # SKIP there is no clang-format-14"
elif find include src connectors tests bench -name '*.[ch]' -print0 |
    xargs -0 -n 50 -P "$(nproc)" clang-format-14 --dry-run --Werror 2>"$errors"; then
    echo "ok 1 - sources are formatted"
else
    grep 'error:' "$errors" | cut -d: -f1 | sort | uniq -c | sed 's/^/# /'
    echo "not ok 1 - sources are formatted: make format"
fi
rm -f "$errors"
