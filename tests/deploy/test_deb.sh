#!/bin/bash
# The Debian package: built, looked at by lintian, installed and purged by apt-get in a copy of this machine's root that is
# thrown away (an overlay in memory, in a mount namespace of its own: needs root). TAP on stdout.
set -u
cd "$(dirname "$0")/../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0
. tests/support/tap.sh

plan 12
command -v dpkg-shlibdeps >/dev/null || { for i in $(seq 12); do skip "package" "there is no dpkg-dev"; done; exit; }
package=$(deploy/debian/build.sh "${BUILD:-build}" 2>"$work/err")
[ -s "$package" ] && [ ! -s "$work/err" ]
result $? "make deb" || sed 's/^/# /' "$work/err"
dpkg-deb -I "$package" | grep -q '^ Depends: .*librdkafka1.*libzstd1'
result $? "its dependencies are those of the program" || dpkg-deb -I "$package" | sed 's/^/# /'
if command -v lintian >/dev/null; then
    lintian --fail-on warning,error --allow-root "$package" >"$work/lintian" 2>&1 && ! grep -q '^[EW]:' "$work/lintian"
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
    for name in installs runs man completion unit hardened check documents purges; do skip "$name" "no overlay can be mounted here"; done
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
apt-get purge -y -qq isochron </dev/null >>/mnt/log 2>&1 &&
    traces | diff /mnt/before - >>/mnt/log &&
    ! command -v isochron >/dev/null; say "apt-get purges it, and nothing is left"
END
cat >"$work/run.sh" <<'END'
. "$1/overlay.sh"
root=$1/layer/root
rm -rf "$root/mnt/results"
cp "$2" "$root/mnt/isochron.deb"
cp "$1/inside.sh" "$root/mnt/"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
VERSION=$3 chroot "$root" bash /mnt/inside.sh
cp "$root/mnt/results" "$root/mnt/log" "$1/"
cat "$root/mnt/verify" "$root/mnt/security" >>"$1/log"
END
version=$(sed -n 's/^#define ISO_VERSION "\(.*\)"/\1/p' include/iso/version.h)
unshare -m bash "$work/run.sh" "$work" "$package" "$version" >"$work/err" 2>&1
for line in $(seq 9); do
    outcome=$(sed -n "${line}p" "$work/results")
    result "${outcome%% *}" "${outcome#* }" || failed=1
done
[ -z "${failed:-}" ] || sed 's/^/# /' "$work/err" "$work/log"
