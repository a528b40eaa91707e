#!/bin/bash
# Builds the Debian packages from what `make` and `make lib` have built: build.sh BUILD-FOLDER. The program (isochron), the proxy (isochron-proxy), its libraries
# (libisochron1, libisochron-recorder1) and what one links them with (libisochron-dev). Needs dpkg-dev, no root. Beside them lie what the
# program and each library are made of (.cdx.json, CycloneDX) and SHA256SUMS of all. Prints the packages' paths, the program's first.
#
# dpkg-deb and not debhelper: there are few files, and what goes where can be read below.
set -eu
cd "$(dirname "$0")/../.."
build=$1
version=$(sed -n 's/^#define ISO_VERSION "\(.*\)"/\1/p' include/iso/version.h)
architecture=$(dpkg --print-architecture)
libdir=usr/lib/$(gcc -print-multiarch)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
maintainer=$(sed -n 's/^Maintainer: //p' deploy/debian/control)
umask 022
unset MAKEFLAGS MAKELEVEL # of a make that calls this: nothing is built here
mkdir -p "$work/debian"
cp deploy/debian/control "$work/debian/control"
built=()

# What a program or library is made of, in its package and beside it; further words: what is linked statically or compiled in.
bill() { # PACKAGE TYPE FILE PART...
    local sbom=$build/${1}_${version}_$architecture.cdx.json
    deploy/debian/sbom.sh "$work/debian/$1/$3" "$1" "$2" "$version" "$epoch" "${@:4}" >"$sbom"
    install -D -m 644 "$sbom" "$work/debian/$1/usr/share/doc/$1/$(basename "$sbom")"
    built+=("$sbom")
}

# dpkg-shlibdeps asks the installed packages which versions have the symbols that a file needs.
needs() { # PACKAGE FILE
    (cd "$work" && dpkg-shlibdeps -O "debian/$1/$2" | sed 's/^shlibs:Depends=//')
}

# The package of what lies in its folder.
pack() { # PACKAGE DEPENDS
    local root=$work/debian/$1 documents=$work/debian/$1/usr/share/doc/$1 package=$build/${1}_${version}_$architecture.deb size
    install -D -m 644 deploy/debian/copyright "$documents/copyright"
    printf 'isochron (%s) stable; urgency=medium\n\n  * Release %s.\n\n -- %s  %s\n' "$version" "$version" \
        "$maintainer" "$(date -R -u -d "@$epoch")" |
        gzip -9n >"$documents/changelog.gz"
    chmod 644 "$documents/changelog.gz"
    mkdir -p "$root/DEBIAN"
    size=$(du -k -s --apparent-size --exclude=DEBIAN "$root" | cut -f1)
    awk -v name="$1" '/^Package:/ { on = $2 == name } on && NF' deploy/debian/control |
        sed -e "s/^Architecture: .*/Source: isochron\nVersion: $version\nArchitecture: $architecture\nMaintainer: $maintainer/" \
            -e "s/^Depends: \\\${[a-z:A-Z]*}/Priority: optional\nInstalled-Size: $size\nDepends: $2/" >"$root/DEBIAN/control"
    [ "$1" != isochron ] || sed -i '/^Source:/d' "$root/DEBIAN/control"
    (cd "$root" && find usr lib -type f -print0 2>/dev/null | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
    SOURCE_DATE_EPOCH=$epoch dpkg-deb --root-owner-group --build -Zxz "$root" "$package" >/dev/null
    built+=("$package")
    echo "$package"
}

# ---- the program ----

root=$work/debian/isochron
"${MAKE:-make}" --no-print-directory -s install-program BUILD="$build" PREFIX=/usr DESTDIR="$root"
strip --strip-unneeded -R .comment -R .note "$root/usr/bin/isochron"
gzip -9n "$root/usr/share/man/man1/isochron.1"
# What it loads when it needs it (base/shared_library.h) is named here and in deploy/debian/control.
bill isochron application usr/bin/isochron "$(gcc -print-file-name=libcadical.a)" /usr/include/xxhash.h \
    "/$libdir/libpg_query.a" "/$libdir/libprotobuf-c.a" "/$libdir/libcurl.so.4" "/$libdir/libmicrohttpd.so.12"
install -D -m 644 deploy/systemd/isochron@.service "$root/lib/systemd/system/isochron@.service"
install -d "$root/etc/isochron"
documents=$root/usr/share/doc/isochron
install -D -m 644 deploy/example.conf "$documents/examples/example.conf"
install -m 644 docs/options.md SECURITY.md "$documents"
# The licences of what is linked statically want to go with it.
for package in libpg-query-dev libprotobuf-c-dev; do
    install -m 644 "/usr/share/doc/$package/copyright" "$documents/copyright.${package%-dev}"
done
for file in deploy/prometheus/rules.yml deploy/grafana/dashboard.json; do
    [ ! -e "$file" ] || install -D -m 644 "$file" "$documents/examples/$(basename "$(dirname "$file")")-$(basename "$file")"
done
install -D -m 644 deploy/debian/lintian-overrides "$root/usr/share/lintian/overrides/isochron"
mkdir -p "$root/DEBIAN"
install -m 755 deploy/debian/postinst deploy/debian/prerm deploy/debian/postrm "$root/DEBIAN/"
pack isochron "$(needs isochron usr/bin/isochron)"

# ---- the proxy ----

root=$work/debian/isochron-proxy
install -D "$build/isochron-proxy" "$root/usr/bin/isochron-proxy"
strip --strip-unneeded -R .comment -R .note "$root/usr/bin/isochron-proxy"
# Its manual is its help.
install -d "$root/usr/share/man/man1"
{
    printf '.TH ISOCHRON-PROXY 1 "" "isochron %s" "User Commands"\n.SH NAME\nisochron-proxy \\- record what clients of PostgreSQL read\n' "$version"
    printf '.SH SYNOPSIS\n.nf\n'
    "$build/isochron-proxy" --help | sed '1s/^usage: //; s/\\/\\e/g; s/-/\\-/g; s/^[.'"'"']/\\\&&/; /^Examples$/s/.*/.fi\n.SH EXAMPLES\n.nf/'
    printf '.fi\n.SH SEE ALSO\n.BR isochron (1)\n'
} | gzip -9n >"$root/usr/share/man/man1/isochron-proxy.1.gz"
chmod 644 "$root/usr/share/man/man1/isochron-proxy.1.gz"
bill isochron-proxy application usr/bin/isochron-proxy "/$libdir/libpg_query.a" "/$libdir/libprotobuf-c.a" "/$libdir/libmicrohttpd.so.12"
install -D -m 644 deploy/systemd/isochron-proxy.service "$root/lib/systemd/system/isochron-proxy.service"
install -D -m 644 docs/proxy.md "$root/usr/share/doc/isochron-proxy/proxy.md"
install -D -m 644 deploy/proxy.conf "$root/usr/share/doc/isochron-proxy/examples/proxy.conf"
install -d "$root/etc/isochron"
sed 's/^isochron:/isochron-proxy:/' deploy/debian/lintian-overrides | install -D -m 644 /dev/stdin "$root/usr/share/lintian/overrides/isochron-proxy"
for package in libpg-query-dev libprotobuf-c-dev; do
    install -m 644 "/usr/share/doc/$package/copyright" "$root/usr/share/doc/isochron-proxy/copyright.${package%-dev}"
done
install -d "$root/DEBIAN"
install -m 755 deploy/debian/proxy/postinst deploy/debian/proxy/prerm deploy/debian/proxy/postrm "$root/DEBIAN/"
pack isochron-proxy "$(needs isochron-proxy usr/bin/isochron-proxy)"

# ---- the libraries ----

root=$work/debian/libisochron-dev
"${MAKE:-make}" --no-print-directory -s install-libraries BUILD="$build" PREFIX=/usr LIBDIR="${libdir#usr/}" DESTDIR="$root"
for library in isochron isochron-recorder; do
    package=lib${library}1 file=$libdir/lib$library.so.1
    install -d "$work/debian/$package/$libdir" "$work/debian/$package/DEBIAN"
    mv "$root/$file" "$work/debian/$package/$file"
    strip --strip-unneeded -R .comment -R .note "$work/debian/$package/$file"
    strip --strip-debug "$root/$libdir/lib$library.a"
    chmod 644 "$work/debian/$package/$file"
    echo "lib$library 1 $package (>= $version)" >"$work/debian/$package/DEBIAN/shlibs"
    echo "activate-noawait ldconfig" >"$work/debian/$package/DEBIAN/triggers"
done
bill libisochron1 library "$libdir/libisochron.so.1" "$(gcc -print-file-name=libcadical.a)" /usr/include/xxhash.h
bill libisochron-recorder1 library "$libdir/libisochron-recorder.so.1"
pack libisochron1 "$(needs libisochron1 "$libdir/libisochron.so.1")"
pack libisochron-recorder1 "$(needs libisochron-recorder1 "$libdir/libisochron-recorder.so.1")"
install -D -m 644 -t "$root/usr/share/doc/libisochron-dev/examples" docs/examples/*.c
install -m 644 docs/library.md "$root/usr/share/doc/libisochron-dev"
pack libisochron-dev "libisochron1 (= $version), libisochron-recorder1 (= $version)"

(cd "$build" && sha256sum $(printf '%s\n' "${built[@]}" | xargs -n 1 basename) >SHA256SUMS)
