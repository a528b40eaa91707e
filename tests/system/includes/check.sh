#!/bin/bash
# Fails on an include that docs/modules.md does not allow, on a permission to include a room of a higher floor, on a room that does not
# stand on its floor, on a circle of includes, and on a permission that nobody uses. Prints one line a fault, "file:line: what is
# wrong", and exits 1.
#
#   check.sh [ROOT [TABLE [lines]]]     the tree to look at, this repository by default, and its table; lines: only what one line
#                                       breaks by itself, for a tree that is not whole
#
# Circles are looked for between topics: x.c and x.h are one topic, since what x.c includes is needed wherever x.h is used. A private
# header is a topic of its own, which may know its public one: x.c -> x_private.h -> x.h is no circle.
set -u
root=${1:-$(cd "$(dirname "$0")/../../.." && pwd)}
table=${2:-$root/docs/modules.md}
cd "$root" || exit 4

find include/iso src connectors tests bench -name '*.[ch]' 2>/dev/null | sort | xargs -r awk -v table="$table" -v extent="${3:-all}" '
function fault(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; faults++ }

# "src/model/history/index.c" -> "history", "tests/unit/io/test_x.c" -> "tests/unit", "include/iso/x.h" -> "iso"
function module_of(path,   part, n) {
    n = split(path, part, "/")
    if (part[1] == "src") return n > 3 ? part[3] : part[2]
    if (part[1] == "include") return part[2]
    if (part[2] == "system") return part[1] "/" part[2] "/" part[3]
    return n > 2 ? part[1] "/" part[2] : part[1]
}

# The module that an include in quotes names: its folder; a room of src may have folders of its own.
function included_module(name) { sub(name ~ /^(connectors|tests|bench)\// ? "/[^/]*$" : "/.*", "", name); return name }

# "src/model/history/index.c" and the "history/index.h" of an include -> "history/index"
function topic_of(path) { sub(/^(include|src\/[^\/]*)\//, "", path); sub(/\.[ch]$/, "", path); return path }

# Notes that `from` includes `to`.
function arrow(from, to) {
    if (from == to || from == to "_private" || (from, to) in drawn) return
    drawn[from, to] = 1
    targets[from] = targets[from] " " to
    topics[from] = topics[to] = 1
}

# A topic from which only such can be reached as are known to be on no circle is on none itself.
function take_away_what_is_on_no_circle(   taken, from, n, to, i, open) {
    do {
        taken = 0
        for (from in topics) {
            open = 0
            n = split(targets[from], to, " ")
            for (i = 1; i <= n; i++) open += to[i] in topics
            if (!open) { delete topics[from]; taken++ }
        }
    } while (taken)
}

# Follows arrows from a topic, all of which lead on, until one comes again; says that circle, and takes it away.
function report_circle_from(topic,   path, length_of_path, place, to, n, i, text) {
    for (;;) {
        if (topic in place) break
        place[topic] = ++length_of_path
        path[length_of_path] = topic
        n = split(targets[topic], to, " ")
        for (i = 1; i <= n; i++)
            if (to[i] in topics) { topic = to[i]; break }
    }
    for (i = place[topic]; i <= length_of_path; i++) { text = text path[i] " -> "; delete topics[path[i]] }
    print "circle of includes: " text topic
    faults++
}

function report_circles(   topic, any) {
    for (;;) {
        take_away_what_is_on_no_circle()
        any = ""
        for (topic in topics) if (any == "" || topic < any) any = topic
        if (any == "") return
        report_circle_from(any)
    }
}

function report_unused(   pair, name) {
    for (pair in may)
        if (!(pair in used)) {
            split(pair, name, SUBSEP)
            printf "%s: module \"%s\" may include \"%s\", and nothing in it does\n", table, name[1], name[2] | "sort"
            faults++
        }
    close("sort")
}

function report_higher(   pair, name) {
    for (pair in may) {
        split(pair, name, SUBSEP)
        if (storey[name[2]] > storey[name[1]]) {
            printf "%s: module \"%s\" may include \"%s\", which stands on a higher floor\n", table, name[1], name[2] | "sort"
            faults++
        }
    }
    close("sort")
}

function trim(text) { gsub(/^ +| +$/, "", text); return text }

BEGIN {
    while ((getline line < table) > 0) {
        if (line ~ /^## /) { floor = substr(line, 4); floors++ }
        if (line !~ /^\|/ || line ~ /^\|-/ || line ~ /^\| module/) continue
        split(line, cell, "|")
        module = trim(cell[2])
        known[module] = 1
        storey[module] = floors
        floor_of[module] = floor
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
    else if (FILENAME ~ /^src\// && FILENAME !~ "^src/" floor_of[module] "/") fault("module \"" module "\" stands on floor " floor_of[module])
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    name = quoted[2]
    if (name !~ /\//) { fault("\"" name "\" lacks its module"); next }
    if (name ~ /\.\./) { fault("\"" name "\" climbs out of its folder"); next }
    other = included_module(name)
    used[module, other] = 1
    arrow(topic_of(FILENAME), topic_of(name))
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

END {
    if (extent != "lines") { report_unused(); report_higher(); report_circles() }
    exit faults > 0
}'
