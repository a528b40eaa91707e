#!/bin/bash
# Fails on an include that src/MODULES.md does not allow. Prints one line a fault, "file:line: what is wrong", and exits 1.
#
#   check.sh [ROOT]     the tree to look at, this repository by default
set -u
root=${1:-$(cd "$(dirname "$0")/../.." && pwd)}
table=${2:-$root/src/MODULES.md}
cd "$root" || exit 4

find include/iso src connectors tests bench -name '*.[ch]' 2>/dev/null | sort | xargs -r awk -v table="$table" '
function fault(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; faults++ }

# "src/history/index.c" -> "history", "tests/unit/io/test_x.c" -> "tests/unit", "include/iso/x.h" -> "iso"
function module_of(path,   part, n) {
    n = split(path, part, "/")
    if (part[1] == "include" || part[1] == "src") return n > 2 ? part[2] : part[1]
    return n > 2 ? part[1] "/" part[2] : part[1]
}

# The module that an include in quotes names: its folder.
function included_module(name) { sub(/\/[^\/]*$/, "", name); return name }

function trim(text) { gsub(/^ +| +$/, "", text); return text }

BEGIN {
    while ((getline line < table) > 0) {
        if (line !~ /^\|/ || line ~ /^\|-/ || line ~ /^\| module/) continue
        split(line, cell, "|")
        module = trim(cell[2])
        known[module] = 1
        n = split(cell[4], word, " ")
        for (i = 1; i <= n; i++) may[module, word[i]] = 1
        n = split(cell[5], word, " ")
        for (i = 1; i <= n; i++) { owned[word[i]] = 1; library[module, word[i]] = 1 }
    }
    if (!("history" in known)) { print table ": no module table"; faults++ }
}

FNR == 1 {
    module = module_of(FILENAME)
    if (!(module in known)) fault("folder of module \"" module "\" is not in the module table")
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    name = quoted[2]
    if (name !~ /\//) { fault("\"" name "\" lacks its module"); next }
    if (name ~ /\.\./) { fault("\"" name "\" climbs out of its folder"); next }
    other = included_module(name)
    if (other != "iso" && other != module && !((module, other) in may))
        fault("module \"" module "\" may not include \"" name "\"")
    else if (name ~ /_private\.h$/ && other != module && FILENAME !~ "^tests/unit/" other "/")
        fault("\"" name "\" is private to " other)
    next
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    split($0, part, /[<>]/)
    for (name in owned)
        if (index(part[2], name) == 1 && !((module, name) in library))
            fault("module \"" module "\" may not use library <" part[2] ">")
}

END { exit faults > 0 }'
