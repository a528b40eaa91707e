#!/bin/bash
# The libraries as users meet them: what `make install` leaves, what is visible in it, and the examples of docs, compiled against it by
# pkg-config, as C and as C++, shared and static. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0
. tests/support/tap.sh
. tests/system/library/installed.sh
plan 17

install_into "$work/installed" >"$work/log" 2>&1
result $? "make install" || sed 's/^/# /' "$work/log"
root=$work/installed/usr

# ---- what is there ----

(cd "$root" && find include lib ! -type d | LC_ALL=C sort) >"$work/files"
diff - "$work/files" >"$work/log" <<'END'
include/iso/isochron.h
include/iso/recorder.h
include/iso/status.h
include/iso/version.h
lib/libisochron-recorder.a
lib/libisochron-recorder.so
lib/libisochron-recorder.so.1
lib/libisochron.a
lib/libisochron.so
lib/libisochron.so.1
lib/pkgconfig/isochron-recorder.pc
lib/pkgconfig/isochron.pc
END
result $? "two libraries, their headers, and nothing else" || sed 's/^/# /' "$work/log"

for header in isochron recorder status version; do
    printf '#include <iso/%s.h>\ntypedef int used;\n' "$header" >"$work/alone.c"
    for compiler in "gcc -std=c99" "gcc -std=c11" "g++ -x c++ -std=c++11" "g++ -x c++ -std=c++20" "clang-14 -std=c11"; do
        $compiler -Wall -Wextra -Werror -pedantic -I"$root/include" -fsyntax-only "$work/alone.c" 2>>"$work/syntax"
    done
done
[ ! -s "$work/syntax" ]
result $? "each header stands by itself, in C and in C++" || sed 's/^/# /' "$work/syntax"

[ "$(package isochron --modversion)" = "$(sed -n 's/^#define ISO_VERSION "\(.*\)"/\1/p' include/iso/version.h)" ] &&
    [ "$(package isochron-recorder --modversion)" = "$(package isochron --modversion)" ]
result $? "pkg-config knows their version"

# ---- what is visible ----

declared() { # HEADER
    grep -v '^ \*' "include/iso/$1.h" | tr '\n' ' ' | grep -o 'ISO_API [^;(]*(' | grep -o 'iso_[a-z_0-9]*($' | tr -d '(' | LC_ALL=C sort
}
for library in isochron:isochron recorder:isochron-recorder; do
    header=${library%:*} name=lib${library#*:}
    declared "$header" >"$work/declared"
    [ "$(wc -l <"$work/declared")" -gt 20 ]
    result $? "iso/$header.h declares what it exports"
    nm -D --defined-only "$root/lib/$name.so.1" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | LC_ALL=C sort | diff "$work/declared" - >"$work/log"
    result $? "$name.so.1 exports what iso/$header.h declares, and nothing else" || sed 's/^/# /' "$work/log"
    nm -g --defined-only "$root/lib/$name.a" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort | diff "$work/declared" - >"$work/log"
    result $? "$name.a likewise" || sed 's/^/# /' "$work/log"
    readelf -d "$root/lib/$name.so.1" >"$work/dynamic"
    grep -q "SONAME.*\[$name.so.1\]" "$work/dynamic" && ! grep -q TEXTREL "$work/dynamic" &&
        ! grep -E 'NEEDED.*(microhttpd|curl|lz4|snappy|jemalloc)' "$work/dynamic" >"$work/log"
    result $? "$name.so.1 names itself, is position-independent and needs no connector's library" || sed 's/^/# /' "$work/log"
    nm -u "$root/lib/$name.a" | awk '{ print $2 }' | grep -xE '_?exit|_Exit|quick_exit|(v?f?printf|f?puts|f?putc|putchar|fwrite|perror|psignal|syslog)(_chk)?|__v?f?printf_chk|std(out|err)|sigaction|signal|system|popen|v?fork|exec[lv].*|setenv|setlocale' >"$work/log"
    [ ! -s "$work/log" ]
    result $? "$name ends no process, prints nothing and leaves signals alone" || sed 's/^/# /' "$work/log"
done

# ---- the examples ----

for example in check_history watch_stream; do
    compile c99 docs/examples/$example.c isochron "$work/$example" &&
        compile c++17 docs/examples/$example.c isochron "$work/$example++" &&
        compile_static docs/examples/$example.c isochron "$work/$example-static"
done 2>"$work/log"
[ ! -s "$work/log" ]
result $? "the examples compile as C and as C++, and link shared and static" || sed 's/^/# /' "$work/log"

cat >"$work/bank.jsonl" <<'END'
{"tid":"open","sid":"bank","sts":1,"cts":2,"ops":[{"t":"w","k":"balance","v":100}]}
{"tid":"alice","sid":"alice","sts":3,"cts":6,"ops":[{"t":"r","k":"balance","v":100},{"t":"w","k":"balance","v":150}]}
{"watermark":5}
{"tid":"bob","sid":"bob","sts":5,"cts":7,"ops":[{"t":"r","k":"balance","v":100},{"t":"w","k":"balance","v":130}]}
{"tid":"audit","sid":"carol","sts":8,"cts":8,"ops":[{"t":"r","k":"balance","v":150}]}
END
grep -v watermark "$work/bank.jsonl" >"$work/finished.jsonl"
checked=0 watched=0
for variant in "" ++ -static; do
    "$work/check_history$variant" "$work/finished.jsonl" >"$work/out" 2>&1
    [ $? = 1 ] && [ "$(sed "s|$work/||" "$work/out" | tr '\n' ' ')" = "violated EXT audit (finished.jsonl:4) NOCONFLICT bob alice (finished.jsonl:3) " ] &&
        [ "$("$work/check_history$variant" | tail -1)" = "NOCONFLICT bob alice (transactions:3)" ] &&
        "$work/check_history$variant" "$work/missing.jsonl" 2>&1 >/dev/null | grep -q 'missing.jsonl: ' && checked=$((checked + 1))
    "$work/watch_stream$variant" <"$work/bank.jsonl" >"$work/lines" 2>"$work/err"
    [ $? = 1 ] && [ "$(jq -c 'if .verdict then .counts else [.state, .axiom, .tids[0]] end' "$work/lines" | tr '\n' ' ')" = \
        '["final","NOCONFLICT","bob"] ["tentative","EXT","audit"] ["final","EXT","audit"] {"TIMESTAMP":0,"SESSION":0,"INT":0,"EXT":1,"NOCONFLICT":1,"CDC":0} ' ] &&
        watched=$((watched + 1))
done
[ $checked = 3 ]
result $? "check_history says what it is to say" || sed 's/^/# /' "$work/out"
[ $watched = 3 ]
result $? "watch_stream says what it is to say" || sed 's/^/# /' "$work/lines" "$work/err"
