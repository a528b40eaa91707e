#!/bin/sh
# Installs the Debian packages of debian-packages.txt that are not there yet; quick when all are.
# Needs root or sudo only when something is missing.
#
#   install-packages.sh [GROUP...]       those under these headings (build, demo, tests, ...); by default all
#                                        but languages, which their tests ask for
set -eu
list=$(dirname "$0")/debian-packages.txt
packages=$(awk -v groups=" $* " '
    /^#/ { heading = $2; sub(":$", "", heading); taken = groups == "  " ? heading !~ /^language-/ : index(groups, " " heading " "); next }
    NF && taken { print $1 }' "$list")
[ -n "$packages" ] || { echo "make deps: $list has nothing for: $*" >&2; exit 2; }

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || {
    echo "make deps: this is not a Debian system; install by hand what $list names" >&2
    exit 4
}

missing=
for package in $packages; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) || status=
    [ "$status" = installed ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
    echo "make deps: all $(echo "$packages" | wc -l) packages are installed"
    exit 0
fi

as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
        echo "make deps: must be root, or have sudo, to install:$missing" >&2
        exit 4
    }
    as_root="sudo"
fi
echo "make deps: installing$missing"
$as_root apt-get update -qq || echo "make deps: apt-get update failed, trying with the package lists at hand" >&2
install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 \
        "$@" </dev/null >/dev/null || {
        echo "make deps: apt-get could not install: $*" >&2
        exit 4
    }
}

# Of packages with services only the programs are wanted: nothing is to start (invoke-rc.d asks this file).
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
    $as_root chmod 755 "$policy"
    trap '$as_root rm -f "$policy"' EXIT
fi

# PostgreSQL's package makes a cluster and starts it, unless it is told not to: the tests need the programs only.
case " $missing " in
*" postgresql-15 "*)
    if [ ! -d /etc/postgresql-common ]; then
        install postgresql-common
        echo "create_main_cluster = false" | $as_root tee -a /etc/postgresql-common/createcluster.conf >/dev/null
    fi
    ;;
esac
# shellcheck disable=SC2086 # a list of words
install $missing
