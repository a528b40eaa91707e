#!/bin/bash
# What `isochron prove` writes beside its verdicts, of every program of tests/data/prove. The history of each counterexample is
# accepted by `check` at its level, and rejected at each stronger level that holds, if the program has no locks; so it is at pc and psi once
# its timestamps are gone, when check searches for an order, and at psi by chronos, too. The proof of all that holds is confirmed by
# `verify`, and not once a line is missing. z3, where it is installed, says the same of the question as text.
. "$(dirname "$0")/common.sh"
levels=(ser si psi pc cc ra rc)
declare -A stronger=([ser]="" [si]=ser [rc]=ser [psi]="pc si ser" [pc]="si ser" [cc]="psi pc si ser" [ra]="cc psi pc si ser")
accepted=0 rejected=0 searched=0 confirmed=0 answered=0 wrong=0

complain() {
    echo "# $*"
    wrong=$((wrong + 1))
}

histories() { # NAME
    local file level strong
    "$ISOCHRON" prove --history "$scratch/$1" --evidence "$scratch/$1.proof" "$root/tests/data/prove/$1.iso" >/dev/null 2>"$scratch/errors"
    for file in "$scratch/$1"/*.jsonl; do
        [ -e "$file" ] || continue
        level=$(basename "$file" .jsonl)
        "$ISOCHRON" check --quiet --level "$level" "$file" >"$scratch/out" 2>&1 || complain "$1: check refuses the history of $level"
        accepted=$((accepted + 1))
        sed -E 's/,"sts":[0-9]+,"cts":[0-9]+//' "$file" >"$scratch/untimed"
        if [ "$level" = pc ] || [ "$level" = psi ]; then
            "$ISOCHRON" check --quiet --level "$level" "$scratch/untimed" >"$scratch/out" 2>&1 || complain "$1: check refuses the history of $level without timestamps"
            searched=$((searched + 1))
        fi
        if [ "$level" = psi ]; then
            "$ISOCHRON" check --quiet --engine chronos --level psi "$file" >"$scratch/out" 2>&1 || complain "$1: chronos refuses the history of psi"
        fi
        grep -q 'lock ' "$root/tests/data/prove/$1.iso" && continue
        for strong in ${stronger[$level]}; do
            [ "${verdict[$strong]}" = + ] || continue
            "$ISOCHRON" check --quiet --level "$strong" "$scratch/untimed" >"$scratch/out" 2>&1
            [ $? = 1 ] || complain "$1: check accepts the history of $level at $strong"
            rejected=$((rejected + 1))
        done
    done
}

proofs() { # NAME
    local program=$root/tests/data/prove/$1.iso level
    grep -q '^level' "$scratch/$1.proof" || return
    "$ISOCHRON" verify "$program" "$scratch/$1.proof" >"$scratch/out" 2>&1 || complain "$1: $(tail -1 "$scratch/out")"
    confirmed=$((confirmed + $(grep -c '^confirmed' "$scratch/out")))
    head -n -1 "$scratch/$1.proof" >"$scratch/damaged"
    "$ISOCHRON" verify "$program" "$scratch/damaged" >/dev/null 2>&1 && complain "$1: a damaged proof is confirmed"
    command -v z3 >/dev/null || return
    for level in si rc; do
        "$ISOCHRON" prove --level $level --smt2 "$scratch/question.smt2" "$program" >/dev/null 2>&1
        case "$(timeout 5 z3 "$scratch/question.smt2")${verdict[$level]}" in unsat+ | sat-) answered=$((answered + 1)) ;; sat+ | unsat-) complain "$1: z3 says something else at $level" ;; esac
    done
}

declare -A verdict
while read -r name signs; do
    [ "$name" = '#' ] && continue
    for i in "${!levels[@]}"; do verdict[${levels[i]}]=${signs:i:1}; done
    histories "$name"
    proofs "$name"
done <"$root/tests/data/prove/verdicts.txt"
[ $wrong = 0 ] && [ $accepted -ge 100 ] && [ $searched -ge 20 ] && [ $rejected -ge 80 ] && [ $confirmed -ge 60 ] && echo -n "ok" || echo -n "not ok"
echo " 1 - programs: $accepted histories accepted, $searched without timestamps, $rejected rejected, $confirmed proofs confirmed, $answered answers of z3 alike"

# Far too much for --timeout, in each phase: SQL is read, terms are built, clauses are made and given to the solver, the solver searches,
# advice is sought. What counts is the processor's time, which a busy machine does not lengthen: that of --timeout and one second more.
calls() { # CALL: 99 of it, @ being 0 to 3 in turn
    for i in {1..99}; do echo "${1//@/$((i % 4))}"; done | paste -sd,
}
cat >"$scratch/read.sql" <<END
CREATE TABLE room (id int PRIMARY KEY, seats int NOT NULL);
CREATE TABLE booking (id serial PRIMARY KEY, room int NOT NULL, people int NOT NULL, slot int, UNIQUE (room, slot));
INSERT INTO room VALUES (1, 10);
CREATE FUNCTION book(r int, p int, s int) RETURNS boolean LANGUAGE plpgsql AS \$\$
DECLARE used int;
BEGIN
  SELECT coalesce(sum(people), 0) INTO used FROM booking WHERE room = r;
  IF used > 10 THEN RETURN false; END IF;
  INSERT INTO booking (room, people, slot) VALUES (r, p, s) ON CONFLICT DO NOTHING;
  UPDATE booking SET people = people + 1 WHERE people < (SELECT max(b.people) FROM booking b WHERE b.slot = slot);
  RETURN true;
END \$\$;
--@ invariant seats: NOT EXISTS (SELECT 1 FROM room m WHERE m.seats < (SELECT sum(b.people) FROM booking b WHERE b.room = m.id))
--@ run $(calls 'book(1, 1..10, @)')
END
cat >"$scratch/build.iso" <<END
table t[200] = 0 input a in 0..1000
txn f(p) { for i in 0..199 { if t[p] > i { t[i] := t[i] + t[p] } } }
run $(calls 'f(a)')
assert t[0] < 100
END
cat >"$scratch/encode.iso" <<END
var w = 0 table d[4] = 0 input a in 1..99
txn pay(i, v) { if w >= 0 { w := w + v d[i] := d[i] + v } }
run $(calls 'pay(@, a)')
assert w == d[0] + d[1] + d[2] + d[3]
END
cat >"$scratch/search.iso" <<END
var w = 1 input a in 2..2000000 input b in 2..2000000
txn put(p, q) { w := p * q }
run put(a, b)
assert w != 999983 * 1000003 * 3
END
slow=0 late=0
for options in "" --any-number "--advise --evidence $scratch/late.proof"; do
    for file in read.sql build.iso encode.iso search.iso; do
        TIMEFORMAT='%U %S'
        spent=$({ time "$ISOCHRON" prove --timeout 0.1 $options "$scratch/$file" >"$scratch/out" 2>"$scratch/errors"; } 2>&1)
        late=$((late + $(grep -c 'undecided: the time is up' "$scratch/out")))
        awk -v spent="$spent" 'BEGIN { split(spent, t, " "); exit !(t[1] + t[2] < 1.1) }' || { echo "# $file $options: $spent seconds of the processor"; slow=$((slow + 1)); }
    done
done
[ $slow = 0 ] && [ $late = 72 ] && echo -n "ok" || echo -n "not ok"
echo " 2 - --timeout is held: $late answers undecided in time"
echo "1..2"
