# What a witness (witness.c) wrote down of a state directory `state` and the verdicts `lines` beside it: says what a loss of power could
# have taken although something rests on it. The last line is "N commits, N removed, N writes to the store".

# The last sync that has ended began behind that line.
function safe(path, line) { return !line || begun_at[path] > line }
function wrong(what) { print FNR ": " what }
function since_fork(path) { return forks ? before_fork[path] : written[path] }

index($2, state "/") != 1 && $2 != state && $2 != lines && /^(write|make|sync|synced) / { next }
$2 == state "/lock" { next }
/^write / { written[$2] = FNR; store += $2 ~ /\/spill-/ }
/^make / && $2 !~ /\.new$/ { made = FNR }
/^sync / { begins[$2] = FNR }
/^synced / { begun_at[$2] = begins[$2] }
/^fork/ {
    forks++
    made_before_fork = made
    for (path in written) before_fork[path] = written[path]
}
# Of what came before its fork a snapshot has all, and so of the store, of verdicts and of journals must the device; and the whole snapshot.
/^rename / {
    if (!safe(state "/" $2, written[state "/" $2])) wrong($2 " gets its name before it is on the device")
    for (path in written)
        if (path !~ /\.new$/ && !safe(path, since_fork(path))) wrong($3 " counts before what it rests on in " path " is on the device")
    if (!safe(state, forks ? made_before_fork : made)) wrong($3 " counts before the name of its journal is on the device")
    commits++
}
/^renamed / { renamed = FNR }
/^unlink / && $2 !~ /\.new$/ && commits {
    if (!safe(state, renamed)) wrong($2 " goes before the name of the next is on the device")
    delete written[state "/" $2]
    delete before_fork[state "/" $2]
    removed++
}
END {
    for (path in written)
        if (path ~ /\/journal-/ && !safe(path, written[path])) wrong("the run ends before " path " is on the device")
    print commits + 0 " commits, " removed + 0 " removed, " store + 0 " writes to the store"
}
