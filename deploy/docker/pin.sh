#!/bin/bash
# Pins the images of Dockerfile and compose.yml to what their tags mean now: NAME:TAG becomes NAME:TAG@sha256:DIGEST, the digest of the list
# for all architectures, as the registry says it. A tag may mean another image tomorrow; a digest cannot.
#
#   deploy/docker/pin.sh           asks the registries, and rewrites the files; again, to take what is new
#   deploy/docker/pin.sh --check   says which images are not pinned, and asks nobody; status 1 if there is one
#
# Needs docker with buildx, skopeo or crane, and the network. What this repository builds itself (isochron) has no digest before it is pushed:
# kustomize takes one then (images: digest:).
set -eu
cd "$(dirname "$0")"
files=(Dockerfile compose.yml)

images() { sed -nE 's/^FROM ([^ ]+).*/\1/p; s/^ *image: *([^ ]+)$/\1/p' "${files[@]}" | grep -v '^isochron\(:\|$\)' | sort -u; }

digest() { # NAME:TAG
    if command -v skopeo >/dev/null; then
        skopeo inspect --raw "docker://$1" | sha256sum | sed 's/ .*//; s/^/sha256:/'
    elif command -v crane >/dev/null; then
        crane digest "$1"
    else
        docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$1"
    fi
}

if [ "${1:-}" = --check ]; then
    loose=$(images | grep -v '@sha256:[0-9a-f]\{64\}$' || true)
    [ -z "$loose" ] && exit 0
    sed 's/$/: not pinned/' <<<"$loose"
    exit 1
fi
for image in $(images); do
    tag=${image%@*}
    found=$(digest "$tag")
    [[ $found =~ ^sha256:[0-9a-f]{64}$ ]] || { echo "pin.sh: $tag: no digest: $found" >&2; exit 1; }
    escaped=$(sed 's/[.[\*^$/]/\\&/g' <<<"$image")
    sed -i -E "s|^(FROM\|( *)image:)( +)$escaped( .*)?\$|\1\3$tag@$found\4|" "${files[@]}"
    echo "$tag@$found"
done
