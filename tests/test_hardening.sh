#!/bin/bash
# The program is built as the Makefile's HARDENED says: position independent, all relocations read-only before main, no executable
# stack, canaries, checked copies, probes of large stack frames, and on x86 marks of where jumps may land. The link and the objects
# are looked at, not the flags. And nothing is in it of what tests may do to a program (src/foundation/base/fault.h).
cd "$(dirname "$0")/.." || exit 4
program=${ISOCHRON:-build/isochron} object=build/obj/src/presentation/cli/log.o
number=0
ok() { # COMMAND... with its name last
    local name=${*: -1}
    number=$((number + 1))
    if "${@:1:$#-1}"; then echo "ok $number - $name"; else echo "not ok $number - $name"; fi
}
# The whole of a list is read, so that no writer of it dies of a closed pipe.
headers=$(readelf -hlW "$program") dynamic=$(readelf -dW "$program") symbols=$(readelf -W --dyn-syms "$program") \
    notes=$(readelf -nW "$object")
has() { grep -qE "$2" <<<"$1"; }
lacks() { ! has "$@"; }

# What only a build for tests may hold: the names of points, variables and functions.
faults=$( (grep -ohE 'ISO_FAULT\(.*' -r src | grep -oE '"[^"]+"' | tr -d '"'; grep -oE 'ISOCHRON_[A-Z_]+' src/foundation/base/fault.c; echo iso_fault_) | sort -u)
texts=$(cat <(strings -a -n 6 "$program") <(nm "$program"))
has_no_fault() { [ "$(wc -l <<<"$faults")" -gt 50 ] && ! grep -F "$faults" <<<"$texts" | sed 's/^/# /' | grep .; }

echo "1..10"
ok has "$headers" 'Type: +DYN' "position independent"
ok has "$dynamic" 'FLAGS_1.*PIE' "and linked as a program"
ok has "$headers" 'GNU_RELRO' "relocations become read-only"
ok has "$dynamic" 'BIND_NOW' "all of them, before main"
ok has "$headers" 'GNU_STACK.* RW +0x' "the stack is not executable"
ok lacks "$headers" '^ +LOAD.* RWE ' "nothing is writable and executable"
ok has "$(nm "$object")" "__stack_chk_fail" "functions with arrays have canaries"
ok has "$symbols" '__(sn|vsn|f|vf)printf_chk|__memcpy_chk|__read_chk' "copies of known size are checked"
case $(uname -m) in
x86_64) ok has "$notes" 'IBT, SHSTK' "jumps land where they may" ;;
*) ok true "jumps land where they may # SKIP not this machine" ;;
esac
ok has_no_fault "nothing lets it die at a named point"
