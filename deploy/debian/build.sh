#!/bin/bash
# Builds isochron_VERSION_ARCHITECTURE.deb from what `make` has built: build.sh BUILD-FOLDER. Needs dpkg-dev, no root.
#
# dpkg-deb and not debhelper: the package is one program and a few files, and what goes where can be read below.
set -eu
cd "$(dirname "$0")/../.."
build=$1
version=$(sed -n 's/^#define ISO_VERSION "\(.*\)"/\1/p' include/iso/version.h)
architecture=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/debian/isochron
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
maintainer=$(sed -n 's/^Maintainer: //p' deploy/debian/control)
umask 022
unset MAKEFLAGS MAKELEVEL # of a make that calls this: nothing is built here
mkdir -p "$root/DEBIAN"

"${MAKE:-make}" --no-print-directory -s install-program BUILD="$build" PREFIX=/usr DESTDIR="$root"
strip --strip-unneeded -R .comment -R .note "$root/usr/bin/isochron"
gzip -9n "$root/usr/share/man/man1/isochron.1"

install -D -m 644 deploy/systemd/isochron@.service "$root/lib/systemd/system/isochron@.service"
install -d "$root/etc/isochron"
documents=$root/usr/share/doc/isochron
install -D -m 644 deploy/example.conf "$documents/examples/example.conf"
install -m 644 deploy/debian/copyright "$documents/copyright"
install -m 644 docs/options.md "$documents/options.md"
for file in deploy/prometheus/rules.yml deploy/grafana/dashboard.json; do
    [ ! -e "$file" ] || install -D -m 644 "$file" "$documents/examples/$(basename "$(dirname "$file")")-$(basename "$file")"
done
install -D -m 644 deploy/debian/lintian-overrides "$root/usr/share/lintian/overrides/isochron"
printf 'isochron (%s) stable; urgency=medium\n\n  * Release %s.\n\n -- %s  %s\n' "$version" "$version" \
    "$maintainer" "$(date -R -u -d "@$epoch")" |
    gzip -9n >"$documents/changelog.gz"
chmod 644 "$documents/changelog.gz"

# dpkg-shlibdeps asks the installed packages which versions have the symbols that the program needs.
cp deploy/debian/control "$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O debian/isochron/usr/bin/isochron | sed 's/^shlibs:Depends=//')
size=$(du -k -s --apparent-size --exclude=DEBIAN "$root" | cut -f1)
sed -n '/^Package:/,$p' deploy/debian/control |
    sed -e "s/^Architecture: .*/Version: $version\nArchitecture: $architecture\nMaintainer: $maintainer/" \
        -e "s/^Depends: .*/Section: database\nPriority: optional\nInstalled-Size: $size\nDepends: $depends/" >"$root/DEBIAN/control"
install -m 755 deploy/debian/postinst deploy/debian/prerm deploy/debian/postrm "$root/DEBIAN/"
(cd "$root" && find usr lib -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"

package=$build/isochron_${version}_$architecture.deb
SOURCE_DATE_EPOCH=$epoch dpkg-deb --root-owner-group --build -Zxz "$root" "$package" >/dev/null
echo "$package"
