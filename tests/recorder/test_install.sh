#!/bin/bash
# What `make install` leaves is enough for an application to record itself: a program that sees only that is compiled, linked and run,
# and what it recorded is judged by the installed isochron. TAP on stdout.
set -u
cd "$(dirname "$0")/../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0
. tests/support/tap.sh
plan 4

${MAKE:-make} --no-print-directory install BUILD="${BUILD:-build}" PREFIX=/usr DESTDIR="$work/installed" >"$work/install.log" 2>&1
result $? "make install" || sed 's/^/# /' "$work/install.log"

cat >"$work/application.c" <<'END'
#include <iso/recorder.h>
#include <stdio.h>

int main(int count, char **arguments)
{
    struct iso_error error = {0};
    struct iso_recorder *recorder = count > 1 ? iso_recorder_new_file(arguments[1], NULL, &error) : NULL;
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "application");
    for (int i = 1; i <= 3; i++) {
        iso_recorder_begin(session);
        iso_recorder_start_timestamp(session, 10 * i);
        iso_recorder_read(session, "t/1", i == 1 ? NULL : i == 2 ? "1" : "stale");
        if (i == 1)
            iso_recorder_write(session, "t/1", "1");
        iso_recorder_commit_timestamp(session, 10 * i + (i == 1));
        iso_recorder_commit(session);
    }
    iso_recorder_session_free(session);
    iso_recorder_free(recorder);
    return error.status;
}
END
"${CC:-gcc}" -std=c11 -Wall -Werror -I"$work/installed/usr/include" "$work/application.c" -L"$work/installed/usr/lib" -lisochron -lrdkafka \
    -pthread -o "$work/application" 2>"$work/compile.log"
result $? "an application links with what is installed, and librdkafka" || sed 's/^/# /' "$work/compile.log"
"$work/application" "$work/history.jsonl"
result $? "it records itself"
"$work/installed/usr/bin/isochron" check --json "$work/history.jsonl" >"$work/verdict"
[ "$(jq -c '[.transactions, .counts.EXT, .violations[0].tids]' "$work/verdict")" = '[3,1,["application.2"]]' ]
result $? "and the record is judged" || sed 's/^/# /' "$work/verdict"
