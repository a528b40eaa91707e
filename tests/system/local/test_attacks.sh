#!/bin/bash
# What another user of the machine may try against somebody's watch: links, pipes and files in place of its own, folders that can be
# changed under it, its command line, its memory. Each is refused with status 2 before anything is read or written; beside each attack stands
# what looks alike and is well. TAP on stdout. It takes root to be two users; without, there is nothing to be seen.
set -u
here=$(cd "$(dirname "$0")" && pwd)
built=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    echo "ok 1 - local attacks # SKIP it takes root to be two users"
    echo "1..1"
    exit 0
fi
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || kill $broker; rm -rf "$work"' EXIT
cd "$work" || exit 4
cp "$built" isochron
chmod 755 . isochron
VICTIM=61001 ATTACKER=61002
number=0

as() { # USER COMMAND...
    setpriv --reuid="$1" --regid="$1" --clear-groups --inh-caps=-all --bounding-set=-all "${@:2}"
}
result() { # 0|1 NAME
    number=$((number + 1))
    if [ "$1" = 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; sed 's/^/# /' said; fi
}
run() { as $VICTIM timeout 60 ./isochron "$@" >out 2>said; }
refuses() { # NAME WORDS COMMAND...: status 2, in these words
    run "${@:3}"
    local status=$?
    [ $status = 2 ] && grep -qF "$2" said
    result $? "$1"
}
works() { # NAME COMMAND...: judged
    run "${@:2}"
    local status=$?
    [ $status = 0 ] || [ $status = 3 ] || [ $status = 1 ]
    result $? "$1"
}
holds() { # NAME COMMAND...
    "${@:2}"
    result $? "$1"
}

echo '{"topic":"t","partition":0,"offset":0,"key":null,"payload":"{\"tid\":1,\"sid\":1,\"sts\":1,\"cts\":2,\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":1}]}"}' >in.jsonl
echo '{"topic":"t","partition":0,"offset":1,"key":null,"payload":"nonsense"}' >>in.jsonl
echo '{"tid":1,"sid":1,"sts":1,"cts":2,"ops":[{"t":"w","k":1,"v":1}]}' >history.jsonl
chmod 644 in.jsonl history.jsonl
mkdir mine theirs open sticky ours grouped
chown $VICTIM:$VICTIM mine && chmod 700 mine
chown $ATTACKER:$ATTACKER theirs && chmod 755 theirs
chmod 777 open && chmod 1777 sticky
chown 0:$VICTIM ours && chmod 2775 ours # as a volume of Kubernetes with fsGroup
chown 0:$ATTACKER grouped && chmod 775 grouped
echo precious >mine/precious && chown $VICTIM mine/precious
safe() { [ "$(cat mine/precious)" = precious ]; }

judge() { echo replay --source history:t --on-bad-record skip --quiet "$@" in.jsonl; }
out() { judge --out "file:$1"; }
dead() { echo replay --source history:t --quiet --on-bad-record dead-letter --dead-letter "$1" in.jsonl; }

# 1, 2: symbolic links in place of files
ln -s "$work/mine/precious" sticky/verdicts && chown -h $ATTACKER sticky/verdicts
ln -s "$work/mine/precious" mine/link && chown -h $VICTIM mine/link
refuses "a link of another's in place of verdicts" "symbolic link" $(out sticky/verdicts)
refuses "a link in place of dead letters" "symbolic link" $(dead mine/link)
holds "what they lead to is as it was" safe
# 3: another name of a file of one's own
ln mine/precious sticky/hard
refuses "a hard link in place of verdicts" "another name" $(out sticky/hard)
refuses "a hard link in place of dead letters" "another name" $(dead sticky/hard)
rm sticky/hard
holds "the file is as it was" safe
# 4: another's file, there first, to be read or written by him
as $ATTACKER touch sticky/first && as $ATTACKER chmod 666 sticky/first
refuses "a file that another has made" "belongs to user $ATTACKER" $(out sticky/first)
touch mine/shared && chown $VICTIM mine/shared && chmod 666 mine/shared
refuses "a file that all may write to" "every user may write to it" $(out mine/shared)
# 5: another's pipe: who opens it would wait, and then be read
as $ATTACKER mkfifo sticky/pipe && as $ATTACKER chmod 666 sticky/pipe
refuses "a pipe of another's is not waited for" "belongs to user $ATTACKER" $(dead sticky/pipe)
# 6, 7: folders that others can change
refuses "a folder that all may write to" "every user may write there" $(out open/verdicts)
refuses "another's folder" "belongs to user $ATTACKER" $(dead theirs/dead)
refuses "a folder of a group that one is not in" "group $ATTACKER may write there" $(out grouped/verdicts)
refuses "what is out of memory goes to no such folder" "every user may write there" $(judge --memory 20M --spill open)
# files that are made once
for made in "gen --txns 5 --quiet" "convert --to native history.jsonl"; do
    refuses "${made%% *}: a link of another's" "symbolic link" $made -o sticky/verdicts
    refuses "${made%% *}: a folder that all may write to" "every user may write there" $made -o open/made
    refuses "${made%% *}: another's file" "belongs to user $ATTACKER" $made -o sticky/first
    works "${made%% *}: a folder of one's own" $made -o mine/made
    works "${made%% *}: in place of the one before" $made -o mine/made
done
holds "those are as they were" safe
# what looks alike and is well
works "a folder of one's own" $(out mine/verdicts)
works "again, to its end" $(out mine/verdicts)
works "a file of one's own where all may write, but not replace" $(out sticky/mine)
works "a volume of a group that one is in" $(dead ours/dead)
works "a device" $(out /dev/null)
as $VICTIM bash -c './isochron "$@" | cat' - $(dead /dev/stdout) >out 2>said # a pipe of its own: /dev/stdout opens it anew
grep -q nonsense out
result $? "standard output by its name"
as $VICTIM mkfifo mine/pipe
cat mine/pipe >piped &
works "a pipe of one's own" $(dead mine/pipe)
wait $!
holds "that was written to" grep -q nonsense piped
holds "new files are for this user alone" test "$(stat -c %a mine/verdicts mine/made sticky/mine ours/dead | sort -u)" = 600

# 8: a state, and what stands in it
mkfifo broker.in
"$(dirname "$built")/embedded-broker" t:1 <broker.in >address & broker=$!
exec 9>broker.in
until grep -q . address; do sleep 0.05; done
watch() { echo watch --source history:t --until-eof --quiet --final-only -X "bootstrap.servers=$(cat address)" "$@"; }
mkdir mine/real && chown $VICTIM mine/real && ln -s real mine/state-link && chown -h $VICTIM mine/state-link
refuses "a link in place of the state" "no symbolic link" $(watch --state mine/state-link)
refuses "a state where all may write" "every user may write there" $(watch --state open)
refuses "a state in such a folder" "every user may write there" $(watch --state open/state)
refuses "a state in a folder that only keeps others from removing" "every user may write there" $(watch --state sticky)
refuses "another's state" "belongs to user $ATTACKER" $(watch --state theirs)
refuses "a link in place of a recording" "symbolic link" $(watch --record sticky/verdicts)
works "a state of one's own" $(watch --state mine/state)
works "a state under /tmp" $(watch --state sticky/state)
holds "the state is for this user alone" test "$(stat -c %a mine/state mine/state/* | sort -u | tr '\n' ' ')" = "600 700 "
for file in mine/state/{lock,journal-1,snapshot-1}; do
    [ -e "$file" ] || file=$(ls -d "${file%-1}"-* 2>/dev/null | head -1)
    [ -n "$file" ] || continue
    cp -a "$file" kept && rm "$file"
    ln -s ../precious "$file" && chown -h $VICTIM "$file"
    run state verify mine/state
    [ $? != 0 ]
    result $? "a link in place of $(basename "$file") is not followed"
    rm "$file"
    as $VICTIM mkfifo "$file"
    as $VICTIM timeout 20 ./isochron state verify mine/state >out 2>said
    status=$?
    [ $status != 0 ] && [ $status != 124 ]
    result $? "nor is a pipe there waited for"
    rm "$file" && mv kept "$file"
done
holds "and the link's end is as it was" safe
works "the state is whole again" state verify mine/state

# 9: secrets where others look
refuses "a broker's password on the command line" "put it into a file" $(watch -X sasl.password=s3cret)
holds "is not told on" eval '! grep -q s3cret said out'
refuses "a registry's in its URL" "login=FILE" watch --source history:t,format=avro,registry=http://u:s3cret@localhost:1
holds "is not told on either" eval '! grep -q s3cret said out'
export ISOCHRON_PROPERTY=sasl.password=s3cret
refuses "a password in the environment" "put it into a file" watch --source history:t
run watch --source history:t --print-config
holds "is not printed with the configuration" eval '! grep -q s3cret said out && grep -qF "[redacted]" out'
unset ISOCHRON_PROPERTY

# 10: its memory. What the system gives to root alone no other process of this user can open, and no core dump is made of.
owner() { # OPTION...: of the memory of a watch
    local watch
    rm -f said
    touch said
    (as $VICTIM bash -c 'echo $$ >&3; exec ./isochron watch --source history:t --listen 0 -X "$@"' - \
        "bootstrap.servers=$(cat address)" "$@" 3>pid >out 2>said 9>&-) &
    until grep -q 'status page' said; do sleep 0.05; done
    watch=$(cat pid)
    [ "$(cat /proc/$watch/comm)" = isochron ] && stat -c %u /proc/$watch/mem
    kill $watch
    wait
}
holds "no other process looks into its memory, and a crash leaves none of it" test "$(owner)" = 0
holds "unless that is asked for" test "$(owner --core)" = $VICTIM
exec 9>&-
echo "1..$number"
