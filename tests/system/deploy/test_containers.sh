#!/bin/bash
# What can be said of images and clusters without either: compose, manifests and Dockerfile are what their readers accept, and
# agree with the program and with each other; the health check is tried on a real watch. TAP on stdout.
set -u
cd "$(dirname "$0")/../../.." || exit 4
work=$(mktemp -d)
number=0
. tests/support/tap.sh
program=$(realpath "${ISOCHRON:-build/isochron}")
. tests/system/deploy/live.sh
trap 'live_end; rm -rf "$work"' EXIT

plan 13
docker=deploy/docker kubernetes=deploy/kubernetes

sed -n '/^# build/,/^$/p' deploy/debian-packages.txt | awk '!/^#/ && NF { print $1 }' | while read -r package; do
    grep -q -w -e "$package" $docker/Dockerfile || echo "# $package is not installed"
done >"$work/missing"
[ ! -s "$work/missing" ]
result $? "the image is built with the packages that a build needs" || cat "$work/missing"
sed -n 's/^COPY \(--from=[^ ]* \)\?\([^ ]*\) .*/\2/p' $docker/Dockerfile | grep -v '^/' | while read -r file; do
    [ -e "$file" ] || echo "# COPY $file"
done >"$work/missing"
[ ! -s "$work/missing" ]
result $? "and copies what is there" || cat "$work/missing"

# Each variable of the compose file names an option of a command that is run there.
variables=$(sed -n 's/^ *ISOCHRON_\([A-Z_]*\):.*/\1/p' $docker/compose.yml | tr 'A-Z_' 'a-z-' | sort -u)
for variable in $variables; do
    "$program" watch --help | grep -q -e "--$variable " || echo "# $variable"
done >"$work/missing"
[ -n "$variables" ] && [ ! -s "$work/missing" ]
result $? "compose sets options that there are" || cat "$work/missing"
if command -v docker-compose >/dev/null; then
    docker-compose -f $docker/compose.yml config -q >"$work/log" 2>&1
    result $? "docker-compose accepts the file" || sed 's/^/# /' "$work/log"
elif docker compose version >/dev/null 2>&1; then
    docker compose -f $docker/compose.yml config -q >"$work/log" 2>&1
    result $? "docker compose accepts the file" || sed 's/^/# /' "$work/log"
else
    skip "docker compose accepts the file" "there is no docker compose"
fi
if command -v promtool >/dev/null; then
    promtool check config --syntax-only $docker/prometheus.yml >"$work/log" 2>&1
    result $? "promtool accepts its Prometheus" || sed 's/^/# /' "$work/log"
else
    skip "promtool accepts its Prometheus" "there is no promtool"
fi

if command -v kubectl >/dev/null; then
    kubectl kustomize $kubernetes >"$work/manifests" 2>"$work/log" && [ "$(grep -c '^kind: ' "$work/manifests")" = 3 ] &&
        grep -q "image: isochron:$(sed -n 's/^#define ISO_VERSION "\(.*\)"/\1/p' include/iso/version.h)\$" "$work/manifests"
    result $? "kustomize makes the manifests, with this version's image" || sed 's/^/# /' "$work/log"
else
    skip "kustomize makes the manifests, with this version's image" "there is no kubectl"
fi
"$program" watch --config $kubernetes/isochron.conf --print-config >"$work/printed" 2>"$work/log" &&
    grep -q "^listen = $(sed -n '/ISOCHRON_LISTEN$/{n;s/.*value: //p}' $kubernetes/statefulset.yaml)  #" "$work/printed" &&
    grep -q "^listen-token = $(sed -n '/ISOCHRON_LISTEN_TOKEN$/{n;s/.*value: //p}' $kubernetes/statefulset.yaml)  #" "$work/printed"
result $? "its configuration is one, and the probe asks where the watch listens" || sed 's/^/# /' "$work/log"

# A sender of nonsense ends none of them: whoever starts a watch as shipped keeps dead letters.
keeps() { grep -q '^on-bad-record = dead-letter  #' <<<"$1" && grep -q '^dead-letter = dead-letter.jsonl.zst  #' <<<"$1"; }
{
    keeps "$(cat "$work/printed")" || echo "# kubernetes"
    # shellcheck disable=SC2046 # words of the unit
    keeps "$(env $(sed -n 's/^Environment=//p' deploy/systemd/isochron@.service) "$program" watch --print-config)" || echo "# systemd"
    # shellcheck disable=SC2046
    keeps "$(env $(sed -n 's/^ *\(ISOCHRON_\(ON_BAD\|DEAD\)[A-Z_]*\): *\(.*\)/\1=\3/p' $docker/compose.yml) "$program" watch --print-config)" || echo "# compose"
    keeps "$("$program" watch --config deploy/example.conf --print-config)" || echo "# example.conf"
    grep -q '^RestartPreventExitStatus=2$' deploy/systemd/isochron@.service || echo "# systemd tries a bad configuration again"
} >"$work/log" 2>&1
[ ! -s "$work/log" ]
result $? "unit, manifests and compose keep dead letters" || cat "$work/log"

# No registry is asked: the script, with one that is made up.
mkdir "$work/bin" "$work/pinned"
cp $docker/pin.sh $docker/Dockerfile $docker/compose.yml "$work/pinned"
printf '#!/bin/sh\necho "sha256:$(echo "$2" | sha256sum | cut -c1-64)"\n' >"$work/bin/crane"
chmod +x "$work/bin/crane"
{
    PATH="$work/bin:/usr/bin:/bin" "$work/pinned/pin.sh" >"$work/first" && "$work/pinned/pin.sh" --check || echo "# not pinned"
    cp -r "$work/pinned" "$work/again"
    PATH="$work/bin:/usr/bin:/bin" "$work/again/pin.sh" >"$work/second" && diff -r "$work/pinned" "$work/again"
    for file in Dockerfile compose.yml; do diff <(sed 's/@sha256:[0-9a-f]*//' "$work/pinned/$file") <(sed 's/@sha256:[0-9a-f]*//' "$docker/$file"); done
} >"$work/log" 2>&1
[ ! -s "$work/log" ]
result $? "images are pinned by their digests, and nothing else changes" || sed 's/^/# /' "$work/log"

# As they stand here they are pinned; what is not is not built, unless that is asked for.
mkdir -p "$work/tree/deploy"
cp -r $docker "$work/tree/deploy/docker"
printf '#!/bin/sh\necho "$@"\n' >"$work/bin/docker"
chmod +x "$work/bin/docker"
builds() { PATH="$work/bin:/usr/bin:/bin" "$work/tree/deploy/docker/build.sh" "$@"; }
{
    $docker/pin.sh --check
    [ "$(builds)" = "build -f Dockerfile -t isochron ../.." ] || echo "# pinned images do not build"
    [ "$(builds -t mine --pull)" = "build -f Dockerfile -t mine --pull ../.." ] || echo "# options are lost"
    sed -i 's/@sha256:[0-9a-f]*//' "$work/tree/deploy/docker/Dockerfile"
    said=$(builds 2>&1)
    [ $? = 2 ] && grep -q '^debian:12-slim: not pinned$' <<<"$said" && ! grep -q '^build -f' <<<"$said" || echo "# built of what is not pinned: $said"
    [ "$(ALLOW_UNPINNED=1 builds)" = "build -f Dockerfile -t isochron ../.." ] || echo "# it was asked for"
} >"$work/log" 2>&1
[ ! -s "$work/log" ]
result $? "images are pinned, and none is built of what is not" || sed 's/^/# /' "$work/log"

# The image's environment, where nothing but the volume can be written, as compose and manifests have it: what must be opened for
# --memory opens there.
if [ "$(id -u)" = 0 ] && unshare --mount mount --bind /tmp /tmp 2>/dev/null; then
    mkdir "$work/data"
    environment=$(sed -n 's/^ENV //p' $docker/Dockerfile | sed "s|=/data|=$work/data|")
    unshare --mount bash -c 'mount --bind /tmp /tmp && mount -o remount,ro,bind /tmp && mount --bind "$1" "$1" && mount -o remount,rw,bind "$1" &&
        cd "$1" && ! touch /tmp/isochron-can-write 2>/dev/null && exec env $2 "$3" replay --source history:t --memory 512M --json /dev/null' \
        bash "$work/data" "$environment" "$program" >"$work/out" 2>"$work/log"
    [ $? = 3 ] && jq -e '.reason == "nothing-judged"' "$work/out" >/dev/null
    result $? "the image runs with a read-only root, memory and all" || sed 's/^/# /' "$work/out" "$work/log"
else
    skip "the image runs with a read-only root, memory and all" "mount name spaces need root"
fi

echo a-token-of-enough-length >"$work/token"
live_watch --listen-token "$work/token"
ready=1
for _ in $(seq 2400); do
    ISOCHRON_LISTEN=$listen ISOCHRON_LISTEN_TOKEN="$work/token" $docker/ready.sh 2>"$work/log" && ready=0 && break
    sleep 0.05
done
result $ready "the health check finds a watch ready" || sed 's/^/# /' "$work/said" "$work/log"
! ISOCHRON_LISTEN=$listen $docker/ready.sh 2>"$work/log" && ! ISOCHRON_LISTEN=127.0.0.1:1 $docker/ready.sh 2>>"$work/log"
result $? "and not without the token, or where nobody listens" || sed 's/^/# /' "$work/log"
