# For the tests of recordings of an attached application: cases.tsv (PostgreSQL), cases_mariadb.tsv and cases_run.tsv row by row, and what is known not to be
# there yet. Sourced.
#
# PENDING names tests that fail today, one a line, "NAME: WHY": they are told as "# skipped: TODO" and do not count. One that passes fails: its line has
# to go.
. "$(dirname "${BASH_SOURCE[0]}")/../corpus/common.sh"
attach=$root/tests/system/attach

why_pending() { # NAME
    awk -v name="$1" 'index($0, name ": ") == 1 { print substr($0, length(name) + 3); exit }' "$attach/PENDING"
}

# conclude GOOD NAME FILE...: the result, and, where it is bad, what the files hold.
conclude() {
    local good=$1 name=$2 why
    shift 2
    why=$(why_pending "$name")
    if [ -z "$why" ]; then
        report "$good" "$name"
        [ "$good" = 0 ] || cat "$@" | cut -c1-1200 | sed 's/^/# /'
    elif [ "$good" = 0 ]; then
        report 1 "$name: passes, but PENDING has it"
    else
        echo "# skipped: TODO $name: $why"
    fi
}

# As conclude, of a number of random draws: few may all be right where more are not, so only a long run tells that a line of PENDING has to go.
conclude_draws() { # GOOD NAME FILE...
    if [ "$1" = 0 ] && [ "${EFFORT:-short}" != long ] && [ -n "$(why_pending "$2")" ]; then
        echo "# skipped: TODO $2: $(why_pending "$2")"
    else
        conclude "$@"
    fi
}

# for_each_case FUNCTION: sets name, folder (a path), capture, options, status, verdict, reason, level, facts and told for each row.
for_each_case() {
    for_each_of "$attach/cases.tsv" attach "$1"
    for_each_of "$attach/cases_mariadb.tsv" attach-mariadb "$1"
    for_each_of "$attach/cases_run.tsv" run "$1"
}

for_each_of() { # TABLE RECORDINGS FUNCTION
    local place name folder capture options status verdict reason level facts told
    while IFS=$'\t' read -r name place capture options status verdict reason level facts told; do
        case $name in \#* | '') continue ;; esac
        folder=$(find_capture "$2/$place" "$capture")
        if [ -n "$folder" ]; then "$3"; else report 1 "$name: there is no $2/$place"; fi
    done <"$1"
}

find_capture() { # FOLDER CAPTURE: the folder that has it
    local path
    for path in "$(find_recording "$1")" "$RECORDINGS/$1"; do
        [ -e "$path/$2" ] && { echo "$path"; return; }
    done
}
