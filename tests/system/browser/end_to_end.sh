#!/bin/bash
# Pages in a real browser (headless Chromium), light and dark, as wide as a phone, a tablet and a desk: no errors on the
# console, nothing from the network, and no layout faults (faults.js). TAP on stdout. With KEEP=FOLDER the pages and a
# picture of each stay there.
set -u
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
chromium=$(command -v chromium || true)
if [ -z "$chromium" ]; then
    echo "ok 1 - pages in a browser # SKIP chromium is not installed (make deps installs it)"
    echo "1..1"
    exit 0
fi
work=${KEEP:-$(mktemp -d)}
mkdir -p "$work"
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
cd "$work" || exit 4
number=0 failed=0

result() { # true|false name
    number=$((number + 1))
    if [ "$1" = true ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; failed=$((failed + 1)); fi
}

browse() { # theme file: the page's elements on stdout, the console in console.log
    local dark=()
    [ "$1" = dark ] && dark=(--blink-settings=preferredColorScheme=0)
    timeout 90 "$chromium" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" --window-size=1500,1000 \
        --host-resolver-rules="MAP * ~NOTFOUND" --enable-logging=stderr --virtual-time-budget=5000 "${dark[@]}" \
        --dump-dom "file://$work/$2" 2>browser.log
    grep -a 'CONSOLE' browser.log >console.log
}

faults() { # what faults.js told, one object a line
    sed -n '/<pre id="told">/,/<\/pre>/p' | sed 's/<[^>]*>//g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' | grep .
}

# The page with the checks in it, which its policy is told of, in frames of three widths.
frame() { # page
    local width hash
    hash=$( (echo && cat "$here/faults.js") | openssl dgst -sha256 -binary | base64)
    sed -e "s|script-src 'sha256-|script-src 'sha256-$hash' &|; s|\(script-src 'sha256-[^ ]* \)script-src |\1|" -e '/<\/body>/{
        i <script>
        r '"$here/faults.js"'
        a </script></body>
        d
    }' "$1.html" >"$1.checked.html"
    {
        echo '<!doctype html><meta charset="utf-8"><pre id="told"></pre>'
        for width in 360 768 1280; do
            echo "<iframe src=\"$1.checked.html\" style=\"width:${width}px;height:800px;border:0;display:block\"></iframe>"
        done
        echo '<script>addEventListener("message", e => { document.getElementById("told").textContent += JSON.stringify(e.data) + "\n"; });</script>'
    } >"$1.frame.html"
}

check() { # page
    local bytes told expected theme
    bytes=$(stat -c %s "$1.html")
    result "$([ "$bytes" -le 5000000 ] && echo true)" "$1: at most 5 MB ($bytes bytes)"
    if sed 's/ href="data:,"//' "$1.html" | grep -qE '<[^>]*[[:space:]](src|href)=|@import|url\('; then result false "$1: refers to nothing outside"; else result true "$1: refers to nothing outside"; fi
    frame "$1"
    for theme in light dark; do
        expected=$([ "$theme" = dark ] && echo true || echo false)
        told=$(browse "$theme" "$1.frame.html" | faults)
        [ -s console.log ] && sed 's/^/#   /' console.log
        result "$([ ! -s console.log ] && echo true)" "$1, $theme: no errors on the console"
        result "$([ "$(jq -s 'map(.width) | sort == [360, 768, 1280]' <<<"$told")" = true ] && echo true)" "$1, $theme: looked at in three widths"
        result "$([ "$(jq -s "all(.dark == $expected)" <<<"$told")" = true ] && echo true)" "$1, $theme: the theme is the asked one"
        jq -r '.width as $width | .faults[:10][] | "#   \($width): \(.)"' <<<"$told"
        result "$([ "$(jq -s 'map(.faults | length) | add' <<<"$told")" = 0 ] && echo true)" "$1, $theme: no layout faults"
        [ -n "${KEEP:-}" ] && timeout 60 "$chromium" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
            --window-size=1500,2600 $([ $theme = dark ] && echo --blink-settings=preferredColorScheme=0) \
            --screenshot="$work/$1.$theme.png" "file://$work/$1.frame.html" 2>/dev/null
    done
}

# Pages: every golden case in one history each would be many; these hold every kind of part.
"$program" check --quiet --html axioms.html "$here/../../cli/data/every-axiom.jsonl" >/dev/null
check axioms

cases=$here/../../data/explain
"$program" explain --html cycle.html "$cases/CYCLE-G-SIb/history.jsonl" "$cases/CYCLE-G-SIb/verdict.json" >/dev/null
check cycle
for name in EXT-stale-many EXT-missing-row-many TIMESTAMP-cts-cycle CDC-gap; do
    "$program" explain --html "$name.html" "$cases/$name/history.jsonl" "$cases/$name/verdict.json" >/dev/null
    check "$name"
done

# Keys, values, ids and the file's name are as hostile and as long as can be.
evil='<img src=x onerror=window.pwned=1><b id=pwned>\u0022\u0027&amp;]]>\u202e\u0000\ud83d\ude00'
long=$(printf 'long%.0s' {1..300})
cat >"<b class=pwned>.jsonl" <<END
{"tid":"$evil","sid":"$long","sts":1,"cts":2,"ops":[{"t":"w","k":"$evil","v":"$long"},{"t":"w","k":"$long","v":"$evil"}]}
{"tid":"$long","sid":"$evil","sts":3,"cts":4,"ops":[{"t":"r","k":"$evil","v":"</script><script>window.pwned=1</script>"},{"t":"r","k":"$long","v":null}]}
END
printf '{"tid":"rows","sid":"%s","sts":5,"cts":6,"ops":[{"t":"q","rows":{"%s":"%s"}}]}\n' "$evil" "$evil" "$long" >>"<b class=pwned>.jsonl"
"$program" check --quiet --html hostile.html "<b class=pwned>.jsonl" >/dev/null
check hostile
"$program" check --quiet --html good.html "$here/../../cli/data/good.jsonl" >/dev/null
check good

# The status page of a running watch, which has found violations and hostile names: as it came over HTTP, with the server's answers
# recorded, so that it can be looked at in any width.
. "$here/../deploy/live.sh"
trap 'live_end; [ -n "${KEEP:-}" ] || rm -rf "$work"' EXIT
live_watch --finality-timeout 0 --memory 1G
printf '%s\n' '{"tid":2,"sid":2,"sts":12,"cts":22,"ops":[{"t":"w","k":"x","v":2}]}' \
    '{"tid":"'"$evil"'","sid":3,"sts":30,"cts":31,"ops":[{"t":"r","k":"x","v":1},{"t":"r","k":"'"$evil"'","v":"'"$long"'"}]}' '{"watermark":"40"}' |
    kcat -b "$(cat address)" -P -t t -p 0 2>/dev/null
for _ in $(seq 200); do
    curl -sS -m 5 "http://$listen/violations" >violations.json
    curl -sS -m 5 "http://$listen/status" >status.json
    [ "$(jq '.lines | map(select(.state == "final")) | length' violations.json)" = 3 ] && jq -e '.metrics.isochron_partition_watermark[0].value == 40' status.json >/dev/null && break
    sleep 0.05
done
result "$([ "$(jq -c '.lines | map(.explanation.steps | length > 3) | unique' violations.json)" = "[true]" ] && echo true)" "status: each violation is told in words"
curl -sS -m 5 "http://$listen/" >page.html
answers="const ANSWERS = $(jq -cn --slurpfile status status.json --slurpfile violations violations.json '{status: $status[0], violations: $violations[0]}' | sed 's|<|\\u003c|g');"
{
    sed '/<script>/,$d' page.html
    printf '<script>%s\n' "$answers"
    cat "$here/status.js"
    printf '</script>\n'
    sed -n '/<script>/,$p' page.html
} >status.html
check status
# And once from the server itself: its own headers allow what the page does.
timeout 90 "$chromium" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
    --host-resolver-rules="MAP * ~NOTFOUND, EXCLUDE 127.0.0.1" --enable-logging=stderr --virtual-time-budget=3000 --dump-dom "http://$listen/" >live.dom 2>browser.log
grep -a 'CONSOLE' browser.log >console.log
result "$([ ! -s console.log ] && grep -q 'violations found' live.dom && [ "$(grep -o '<article' live.dom | wc -l)" = "$(jq '.lines | map(.id) | unique | length' violations.json)" ] && echo true)" \
    "status: the server's own page shows them, with no error on the console" || sed 's/^/# /' console.log

# The checks themselves: a page with faults is not taken for a good one.
sed 's|</h1>|</h1><p style="width:1400px">wide</p><p style="color:#777;background:#888">dim</p><img onerror="x()" src="data:,">|' axioms.html >broken.html
frame broken
told=$(browse light broken.frame.html | faults)
result "$([ "$(jq -s 'all(.faults | length >= 2)' <<<"$told")" = true ] && [ "$(jq -s length <<<"$told")" = 3 ] && echo true)" "broken: its faults are seen"
result "$([ -s console.log ] && echo true)" "broken: its errors are seen"

# Thousands of violations: cut at 5 MB, and the list still works.
for i in $(seq 1 3600); do
    printf '{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"w","k":"k%d","v":1}]}\n' $((2 * i)) $((2 * i)) $((4 * i)) $((4 * i + 1)) "$i"
    printf '{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"r","k":"k%d","v":null}]}\n' $((2 * i + 1)) $((2 * i + 1)) $((4 * i + 2)) $((4 * i + 2)) "$i"
done >many.jsonl
"$program" check --quiet --max-violations 0 --html many.html many.jsonl >/dev/null
bytes=$(stat -c %s many.html)
result "$([ "$bytes" -le 5000000 ] && [ "$bytes" -gt 4000000 ] && grep -q 'more are not shown' many.html && echo true)" "many: cut below 5 MB ($bytes bytes), and says so"
browse light many.html >many.dom
result "$([ ! -s console.log ] && grep -q ' shown</span>' many.dom && echo true)" "many: the browser takes it"

echo "1..$number"
[ $failed = 0 ]
