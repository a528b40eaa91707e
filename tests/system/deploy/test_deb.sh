#!/bin/bash
# The Debian packages: built, looked at by lintian, installed and purged by apt-get in a copy of this machine's root that is
# thrown away (an overlay in memory, in a mount namespace of its own: needs root). TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0
. tests/support/tap.sh

plan 24
command -v dpkg-shlibdeps >/dev/null || { for i in $(seq 24); do skip "package" "there is no dpkg-dev"; done; exit; }
mapfile -t packages < <(deploy/debian/build.sh "${BUILD:-build}" 2>"$work/err")
package=${packages[0]}
[ ${#packages[@]} = 5 ] && [ -s "$package" ] && [ ! -s "$work/err" ]
result $? "make deb: the program, the proxy, two libraries, and what one links them with" || sed 's/^/# /' "$work/err"
dpkg-deb -I "$package" | grep -q '^ Depends: .*librdkafka1.*libzstd1.*libcurl4 .*libmicrohttpd12 '
result $? "its dependencies are those of the program" || dpkg-deb -I "$package" | sed 's/^/# /'
for library in libisochron1:libzstd1 libisochron-recorder1:librdkafka1 libisochron-dev:libisochron1.*libisochron-recorder1; do
    dpkg-deb -f "$(dirname "$package")/${library%%:*}"_*.deb Depends | grep -q "${library#*:}" || echo "${library%%:*}"
done >"$work/log"
[ ! -s "$work/log" ]
result $? "those of the libraries, too" || sed 's/^/# /' "$work/log"
sbom=${package%.deb}.cdx.json
dpkg-deb -x "$package" "$work/unpacked"
# Debian's packages of all that the program needs, and what is in it without being needed.
for library in $(objdump -p "$work/unpacked/usr/bin/isochron" | awk '$1 == "NEEDED" { print $2 }'); do
    dpkg-query -S "*/$(gcc -print-multiarch)/$library" | sed 's/:.*//' | head -1
done | sort -u >"$work/needed"
printf '%s\n' libcadical-dev libpg-query-dev libprotobuf-c-dev libxxhash-dev libcurl4 libmicrohttpd12 >>"$work/needed"
jq -r '.dependencies[0].dependsOn[] as $r | .components[] | select(.["bom-ref"] == $r) | .name' "$sbom" | sort -u | diff <(sort -u "$work/needed") - >"$work/log" &&
    jq -e --arg hash "$(sha256sum <"$work/unpacked/usr/bin/isochron" | cut -d' ' -f1)" '.bomFormat == "CycloneDX" and .specVersion == "1.5" and
        .metadata.component.hashes[0].content == $hash and ([.components[] | select(.version == "" or (.purl | startswith("pkg:deb/") | not))] == [])' "$sbom" >>"$work/log"
result $? "the bill of materials names what the program is made of" || sed 's/^/# /' "$work/log"
cmp "$sbom" "$work/unpacked/usr/share/doc/isochron/$(basename "$sbom")" >"$work/log" 2>&1
result $? "and lies in the package" || sed 's/^/# /' "$work/log"
for library in libisochron1 libisochron-recorder1; do
    bill=$(dirname "$package")/${library}_$(dpkg-deb -f "$package" Version)_$(dpkg --print-architecture).cdx.json
    dpkg-deb -x "${bill%.cdx.json}.deb" "$work/$library"
    jq -e --arg name "$library" --arg hash "$(sha256sum <"$work/$library/usr/lib/$(gcc -print-multiarch)/${library%1}.so.1" | cut -d' ' -f1)" \
        '.metadata.component | .name == $name and .type == "library" and .hashes[0].content == $hash' "$bill" || echo "$library"
done >"$work/log" 2>&1
[ "$(sort -u "$work/log")" = true ]
result $? "each library has its own" || sed 's/^/# /' "$work/log"
(cd "$(dirname "$package")" && sha256sum --quiet -c SHA256SUMS && [ "$(wc -l <SHA256SUMS)" = 9 ]) >"$work/log" 2>&1
result $? "checksums of all fit" || sed 's/^/# /' "$work/log"
if command -v lintian >/dev/null; then
    lintian --fail-on warning,error --allow-root "${packages[@]}" >"$work/lintian" 2>&1 && ! grep -q '^[EW]:' "$work/lintian"
    result $? "lintian has nothing to say" || sed 's/^/# /' "$work/lintian"
else
    skip "lintian has nothing to say" "there is no lintian"
fi

mkdir "$work/layer"
cat >"$work/overlay.sh" <<'END'
mount -t tmpfs tmpfs "$1/layer" && mkdir "$1/layer/upper" "$1/layer/work" "$1/layer/root" &&
    mount -t overlay overlay -o "lowerdir=/,upperdir=$1/layer/upper,workdir=$1/layer/work" "$1/layer/root"
END
if ! unshare -m bash "$work/overlay.sh" "$work" 2>/dev/null; then
    for name in proxy proxy-unit proxy-configuration proxy-purge installs runs man completion unit hardened check documents libraries link static purges; do skip "$name" "no overlay can be mounted here"; done
    exit
fi

cat >"$work/inside.sh" <<'END'
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/mnt PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /mnt
say() { echo "$? $1" >>/mnt/results; }
traces() { find /etc /usr /var -iname '*isochron*' -not -path '/var/cache/man/*' | sort; }
traces >/mnt/before
apt-get install -y -qq --no-install-recommends /mnt/isochron.deb </dev/null >/mnt/log 2>&1; say "apt-get installs it"
[ "$(isochron --version)" = "isochron $VERSION" ]; say "it runs"
man -w isochron >>/mnt/log 2>&1 && man isochron 2>/dev/null | grep -q 'print-config'; say "its man page is found"
bash -c '. /usr/share/bash-completion/completions/isochron && complete -p isochron' >>/mnt/log 2>&1; say "bash finds its completion"
cp /usr/share/doc/isochron/examples/example.conf /etc/isochron/shop.conf
systemd-analyze verify isochron@shop.service >/mnt/verify 2>&1 && [ ! -s /mnt/verify ]; say "systemd-analyze verify has nothing to say of the unit"
systemd-analyze security --offline=true --threshold=15 isochron@shop.service >/mnt/security 2>&1; say "its exposure is below 1.5"
isochron watch --config /etc/isochron/shop.conf --print-config 2>>/mnt/log | grep -q '^memory = 2000000000  # /etc/isochron/shop.conf'; say "the example configuration is one"
(cd /usr/share/doc/isochron && [ -s options.md ] && [ -s copyright ] && gzip -t changelog.gz); say "documents are there"
rm /etc/isochron/shop.conf
apt-get install -y -qq --no-install-recommends /mnt/libisochron1.deb /mnt/libisochron-recorder1.deb /mnt/libisochron-dev.deb </dev/null >>/mnt/log 2>&1; say "apt-get installs the libraries"
example=/usr/share/doc/libisochron-dev/examples/check_history.c
cc $example $(pkg-config --cflags --libs isochron) -o /mnt/shared 2>>/mnt/log && /mnt/shared | grep -q '^NOCONFLICT bob alice'; say "the example links with them, by pkg-config alone"
cc $example $(pkg-config --cflags --libs isochron-recorder) -l:libisochron.a $(pkg-config --static --libs isochron | sed 's/-lisochron //') -o /mnt/static 2>>/mnt/log &&
    /mnt/static | grep -q '^NOCONFLICT bob alice' && ! ldd /mnt/static | grep -q libisochron.so; say "and with the archive"
apt-get install -y -qq --no-install-recommends /mnt/isochron-proxy.deb </dev/null >>/mnt/log 2>&1 && [ "$(isochron-proxy --version)" = "isochron $VERSION" ] &&
    man isochron-proxy 2>/dev/null | grep -q -e '--server-ca' && [ -s /usr/share/doc/isochron-proxy/proxy.md ]; say "apt-get installs the proxy, with its manual"
cp /usr/share/doc/isochron-proxy/examples/proxy.conf /etc/isochron/proxy.conf
systemd-analyze verify isochron-proxy.service >>/mnt/verify 2>&1 && [ ! -s /mnt/verify ] && systemd-analyze security --offline=true --threshold=15 isochron-proxy.service >>/mnt/security 2>&1
say "systemd-analyze has nothing to say of its unit, and its exposure is below 1.5"
isochron-proxy --config /etc/isochron/proxy.conf --print-config 2>>/mnt/log | grep -q '^listen = 127.0.0.1:9188  # /etc/isochron/proxy.conf'; say "the proxy's example configuration is one"
rm /etc/isochron/proxy.conf
apt-get purge -y -qq isochron-proxy </dev/null >>/mnt/log 2>&1 && ! command -v isochron-proxy >>/mnt/log; say "apt-get purges the proxy"
apt-get purge -y -qq isochron libisochron1 libisochron-recorder1 libisochron-dev </dev/null >>/mnt/log 2>&1 &&
    traces | diff /mnt/before - >>/mnt/log &&
    ! command -v isochron >/dev/null; say "apt-get purges all, and nothing is left"
END
cat >"$work/run.sh" <<'END'
. "$1/overlay.sh"
root=$1/layer/root
rm -rf "$root/mnt/results"
for file in "${@:3}"; do
    name=$(basename "$file")
    cp "$file" "$root/mnt/${name%%_*}.deb"
done
cp "$1/inside.sh" "$root/mnt/"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
VERSION=$2 chroot "$root" bash /mnt/inside.sh
cp "$root/mnt/results" "$root/mnt/log" "$1/"
cat "$root/mnt/verify" "$root/mnt/security" >>"$1/log"
END
version=$(sed -n 's/^#define ISO_VERSION "\(.*\)"/\1/p' include/iso/version.h)
unshare -m bash "$work/run.sh" "$work" "$version" "${packages[@]}" >"$work/err" 2>&1
for line in $(seq 16); do
    outcome=$(sed -n "${line}p" "$work/results")
    result "${outcome%% *}" "${outcome#* }" || failed=1
done
[ -z "${failed:-}" ] || sed 's/^/# /' "$work/err" "$work/log"
