# A page's console blocks as a bash script, and what each command must print. -v folder=FOLDER
#
# A block opens with ```console, and its commands begin with "$ ", continued lines with "> ". What follows a command is what it
# prints. Words behind "console" say how a block is to be taken:
#
#   not-run: REASON     listed, not run
#   varying: REASON     numbers and the room around them are not compared
#
# Leaves in FOLDER: script; N.command, N.expected, N.place ("line how"), and notes: lines "line how reason". Any other block of
# commands is a fault: FOLDER/faults.
function close_command() {
    if (!open) return
    open = 0
    printf "} >%d.actual 2>&1; status=$?; echo $status >%d.status; (exit $status)\n", count, count >script
    close(folder "/" count ".expected")
}
function fault(text) { print FNR ": " text >>(folder "/faults") }
BEGIN {
    script = folder "/script"
    printf "" >script
}
/^```/ {
    if (fenced) { close_command(); fenced = 0; next }
    fenced = 1
    language = $1; sub(/^```/, "", language)
    how = $2; sub(/:$/, "", how)
    reason = $0; sub(/^[^ ]* *[^ ]* */, "", reason)
    if (language == "") fault("a block without a language")
    if (language ~ /^(sh|bash|shell)$/) fault("commands belong into a block of ```console")
    if (language == "console" && how != "" && how !~ /^(not-run|varying)$/) fault("no such word: " how)
    if (language == "console" && how != "" && reason == "") fault(how " without a reason")
    if (language == "console" && how != "") print FNR, how, reason >>(folder "/notes")
    next
}
!fenced && /^    ( *\$ |isochron |make |docker |sudo )/ { fault("commands belong into a block of ```console") }
!fenced || language != "console" || how == "not-run" { next }
/^\$ / {
    close_command()
    open = 1
    count++
    print substr($0, 3) >(folder "/" count ".command")
    print FNR, (how == "" ? "exact" : how) >(folder "/" count ".place")
    printf "" >(folder "/" count ".expected")
    printf "{ %s\n", substr($0, 3) >script
    next
}
open && /^> / {
    print substr($0, 3) >>(folder "/" count ".command")
    print substr($0, 3) >script
    next
}
open { print >>(folder "/" count ".expected"); next }
{ fault("a console block begins with a command") }
END { if (fenced) fault("a block that does not end"); close_command() }
