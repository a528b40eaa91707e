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

static void ask(struct iso_recorder_session *session, const char *const *columns, const char *const *values)
{
    iso_recorder_query_begin(session, "acct", "7", "9", "owner = 'ann'");
    iso_recorder_query_row(session, "7#", columns, values, 1);     /* left out: it has no end */
    iso_recorder_query_begin(session, "acct", "7", "9", "owner = 'ann'");
    iso_recorder_query_row(session, "7%23", columns, values, 1);
    iso_recorder_query_end(session);
    iso_recorder_query_begin(session, "acct", NULL, NULL, NULL);
    iso_recorder_query_aggregate(session, "sum(balance)", "120");
    iso_recorder_query_end(session);
    iso_recorder_query_begin(session, "acct", NULL, NULL, "balance between 1 and 500");
    iso_recorder_query_columns(session, columns + 1, 1);
    iso_recorder_query_values(session, values + 1);
    iso_recorder_query_end(session);
}

int main(int count, char **arguments)
{
    struct iso_error error = ISO_NO_ERROR;
    struct iso_recorder *recorder = count > 1 ? iso_recorder_new_file(arguments[1], NULL, &error) : NULL;
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "application");
    const char *columns[] = {"owner", "balance"}, *values[] = {"ann", "120", "120"}, *parts[] = {"7#"};
    char row[20];
    iso_recorder_row_key(row, sizeof row, "acct", parts, 1);
    for (int i = 1; i <= 3; i++) {
        iso_recorder_begin(session);
        iso_recorder_start_timestamp(session, 10 * i);
        iso_recorder_read(session, "t/1", i == 1 ? NULL : i == 2 ? "1" : "stale");
        if (i == 1)
            iso_recorder_write(session, "t/1", "1");
        if (i == 1)
            iso_recorder_write_row(session, row, columns, values, 2);
        else
            iso_recorder_read_row(session, row, columns, i == 2 ? values : values + 1, 2);
        iso_recorder_read_no_row(session, "acct/8");
        if (i < 3)
            ask(session, columns, values);
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
    [ "$(jq -c '[.transactions, .counts.EXT, (.violations[] | .tids + [.key])]' "$work/verdict")" = \
        '[3,2,["application.2","acct/7%23#owner"],["application.2","t/1"]]' ]
    result $? "$program records itself, and the record is judged" || sed 's/^/# /' "$work/verdict"
    rm -f "$work/history.jsonl" "$work/verdict"
done
