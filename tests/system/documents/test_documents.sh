#!/bin/bash
# What is made from the option tables: the man page is clean for man and groff, completion completes, docs/options.md is as
# the program would write it. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$(realpath "${ISOCHRON:-build/isochron}")" "$work/bin/isochron"
export PATH="$work/bin:$PATH" LC_ALL=C.UTF-8 MANWIDTH=80
number=0
. tests/support/tap.sh
plan 22

# silent NAME COMMAND...: it succeeds and says nothing on stderr.
silent() {
    local name=$1
    shift
    "$@" >"$work/out" 2>"$work/err" && [ ! -s "$work/err" ]
    result $? "$name" || sed 's/^/# /' "$work/err"
}

isochron document man >"$work/isochron.1"
silent "groff has nothing to say of the man page" groff -ww -man -Tutf8 "$work/isochron.1"
silent "nor has man" man -l --warnings "$work/isochron.1"
man -l "$work/isochron.1" | col -b >"$work/page"
isochron --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$work/commands"
missing=
while read -r command; do
    for option in $(isochron "$command" --help | grep -o -E '^  (-., )?--[a-z0-9-]+' | grep -o -E -e '--[a-z0-9-]+'); do
        grep -q -E -e "^ +(-., )?$option( |\$)" "$work/page" || missing="$missing $command:$option"
    done
done <"$work/commands"
[ -z "$missing" ] && [ -s "$work/commands" ]
result $? "the man page has every option of every command" || echo "#$missing"
isochron document markdown | cmp -s - docs/options.md
result $? "docs/options.md is up to date: make documents"

for shell in bash zsh fish; do
    isochron completion $shell >"$work/script.$shell"
    if command -v $shell >/dev/null; then
        silent "$shell reads its script" $shell -n "$work/script.$shell"
    else
        skip "$shell reads its script" "there is no $shell"
    fi
done

# complete WORD...: what bash proposes for the last word, as its line editor would ask.
complete_bash() {
    bash --norc -c '
        source "$1"
        shift
        COMP_WORDS=(isochron "$@") COMP_CWORD=$#
        $(complete -p isochron | sed "s/.*-F \([^ ]*\).*/\1/")
        printf "%s\n" "${COMPREPLY[@]}"' bash "$work/script.bash" "$@" 2>"$work/err" | sort | paste -sd' '
}

proposes() { # EXPECTED WORD...
    local expected=$1 got
    shift
    got=$(complete_bash "$@")
    [ "$got" = "$expected" ] && [ ! -s "$work/err" ]
    result $? "bash: isochron $*" || echo "# proposes \"$got\", expected \"$expected\" $(head -1 "$work/err")"
}

proposes "check" che
proposes "--level" check --lev
proposes "ser" check --level se
proposes "gsi" check --level = gs
proposes "aion auto chronos polygraph" check --engine ""
proposes "native" gen -o x --format n
proposes "" check --initial-file ""
proposes "" check --threads ""
proposes "aion chronos decode kafka spill" bench ""
proposes "bash fish zsh" completion ""
proposes "--until-eof" watch --source history:t --until
proposes "" check history.j

# Where a file is meant bash falls back to file names; where a number is meant it is told not to.
[ "$(grep -c 'complete -o default -F _isochron isochron' "$work/script.bash")" = 1 ]
result $? "bash completes files where nothing else is proposed"

if command -v fish >/dev/null; then
    got=$(HOME=$work fish --no-config -c "source $work/script.fish; complete -C 'isochron check --level str'; complete -C 'isochron conv'" |
        cut -f1 | paste -sd' ')
    [ "$got" = "strict-ser strongest strong-si convert" ]
    result $? "fish completes a value and a command" || echo "# $got"
else
    skip "fish completes a value and a command" "there is no fish"
fi
if command -v zsh >/dev/null; then
    got=$(HOME=$work zsh -f tests/system/documents/complete.zsh "$work/script.zsh" 'isochron check --level gs' 'isochron conv' 2>&1)
    [ "$got" = "isochron check --level gsi
isochron convert" ]
    result $? "zsh completes a value and a command" || echo "# $got"
else
    skip "zsh completes a value and a command" "there is no zsh"
fi
