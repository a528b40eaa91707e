#!/bin/bash
# Proves that README's commands need nothing that they do not bring: a minimal Debian 12 root, a clone of HEAD in it,
# `make demo` and `make test` in that. Needs root, debootstrap and git; leaves nothing behind.
#
#   bare.sh [TARGET...]      demo and test by default; KEEP=DIR uses and keeps a root, to look at it or run again
#
# From this machine come what its network asks for: apt's sources, keys and proxies, resolv.conf, CA certificates.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- demo test
[ "$(id -u)" = 0 ] || { echo "make bare: must be root: debootstrap and chroot need it" >&2; exit 4; }
deploy/install-packages.sh bare

root=${KEEP:-$(mktemp -d /var/tmp/isochron-bare-XXXXXX)}
mounted=()

mount_in() { # SOURCE PLACE OPTION...
    local source=$1 place=$root/$2
    shift 2
    mkdir -p "$place"
    mount "$@" "$source" "$place"
    mounted=("$place" "${mounted[@]}")
}

leave() {
    local place
    for place in ${mounted[@]+"${mounted[@]}"}; do umount "$place" || umount --lazy "$place"; done
    # Never delete through a mount that could not be undone.
    [ -n "${KEEP:-}" ] || grep -q " $root/" /proc/mounts || rm -rf --one-file-system "$root"
}
trap leave EXIT
trap 'exit 130' INT TERM

copy_in() { # FILE-OR-FOLDER...: those that are there, to the same places
    local path
    for path in "$@"; do
        [ -e "$path" ] || continue
        mkdir -p "$root$(dirname "$path")"
        cp -aL "$path" "$root$(dirname "$path")/"
    done
}

if [ ! -x "$root/usr/bin/apt-get" ]; then
    mirror=$(awk '/^URIs:/ { print $2; exit } /^deb / { print $2; exit }' \
        /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null || true)
    echo "== debootstrap"
    debootstrap --variant=minbase bookworm "$root" "${mirror:-http://deb.debian.org/debian}" >"$root.log" 2>&1 ||
        { tail -n 20 "$root.log" >&2; rm -f "$root.log"; exit 4; }
    rm -f "$root.log"
fi
copy_in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt /etc/apt/sources.list.d/debian.sources
copy_in $(grep -ls -i 'proxy\|verify\|cainfo' /etc/apt/apt.conf /etc/apt/apt.conf.d/* || true)
[ ! -e "$root/etc/apt/sources.list.d/debian.sources" ] || : >"$root/etc/apt/sources.list"

mount_in proc proc -t proc
mount_in /dev dev --bind
mount_in devpts dev/pts -t devpts
mount_in tmpfs dev/shm -t tmpfs

rm -rf "$root/srv/checkout"
git clone -q --no-hardlinks . "$root/srv/checkout/isochron"
if [ -d ../shared ]; then mount_in "$(cd ../shared && pwd)" srv/checkout/shared --bind -o ro; fi

# What README tells to type, in a shell that knows nothing of this machine.
inside() {
    env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
        chroot "$root" /bin/sh -c "cd /srv/checkout/isochron && $1"
}

# What whoever has a clone has: git brought it. All else the two commands install.
echo "== apt-get install git make sudo"
inside 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends git make sudo >/dev/null'
good=0 bad=0
for target; do
    echo "== make $target"
    started=$SECONDS
    inside "make $target" && good=$((good + 1)) || bad=$((bad + 1))
    echo "== make $target: ended after $((SECONDS - started)) s on a bare machine"
done
left=$(inside 'ls -A' | grep -v -x -F "$(git ls-tree --name-only HEAD)" | grep -v -x -e .git -e 'build.*' || true)
[ -z "$left" ] || { echo "make bare: left behind: $left" >&2; bad=$((bad + 1)); }
[ -z "${RESULTS:-}" ] || echo "$good $bad" >"$RESULTS/bare.count"
echo "$good passed, $bad failed"
[ "$bad" = 0 ]
