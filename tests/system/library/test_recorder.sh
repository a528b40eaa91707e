#!/bin/bash
# What `make install` leaves is enough for an application to record itself: a program that sees only that is compiled, linked and run,
# and what it recorded is judged by the installed isochron. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0
. tests/support/tap.sh
. tests/system/library/installed.sh
plan 5

install_into "$work/installed" >"$work/log" 2>&1
result $? "make install" || sed 's/^/# /' "$work/log"

cat >"$work/application.c" <<'END'
#include <iso/recorder.h>
#include <stdio.h>

int main(int count, char **arguments)
{
    struct iso_error error = ISO_NO_ERROR;
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
compile c99 "$work/application.c" isochron-recorder "$work/application" 2>"$work/log" &&
    compile c++17 "$work/application.c" isochron-recorder "$work/application++" 2>>"$work/log" &&
    compile_static "$work/application.c" isochron-recorder "$work/application-static" 2>>"$work/log"
result $? "an application links with what is installed: as C, as C++, statically" || sed 's/^/# /' "$work/log"
for program in application application++ application-static; do
    "$work/$program" "$work/history.jsonl" &&
        "$work/installed/usr/bin/isochron" check --json "$work/history.jsonl" >"$work/verdict"
    [ "$(jq -c '[.transactions, .counts.EXT, .violations[0].tids]' "$work/verdict")" = '[3,1,["application.2"]]' ]
    result $? "$program records itself, and the record is judged" || sed 's/^/# /' "$work/verdict"
    rm -f "$work/history.jsonl" "$work/verdict"
done
