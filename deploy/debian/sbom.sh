#!/bin/bash
# What a program or library is made of, as CycloneDX 1.5 (JSON) on stdout: sbom.sh FILE NAME application|library VERSION EPOCH PART...
# Every Debian package whose libraries it loads, directly or through others, and those of the parts: archives (.a) that were linked into
# it, libraries (.so) that it loads when a run needs them, headers that are part of it; with its version, as dpkg knows them on the machine
# that builds. No root; no tool but dpkg's and coreutils'.
set -eu
program=$1 name=$2 type=$3 version=$4 epoch=$5 parts=("${@:6}")
distribution=$(. /etc/os-release && echo "$ID-${VERSION_ID:-unknown}")

# The package that a file is of, whichever of its names dpkg knows.
owner() { # FILE
    local file
    for file in "$1" "$(realpath "$1")" "${1#/usr}" "/usr$1" "$(realpath "$1" | sed 's|^/usr||')"; do
        dpkg-query -S "$file" 2>/dev/null | sed -n 's/: [^ ]*$//p' | head -1 | grep . && return
    done
    echo "sbom.sh: no package has $1" >&2
    return 1
}

# "PACKAGE HOW" a line: loaded by the program itself, by another library, or built in.
parts() {
    local needed library path part
    needed=$(objdump -p "$program" | awk '$1 == "NEEDED" { print $2 }')
    ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | while read -r library path; do
        if grep -qxF "$library" <<<"$needed"; then echo "$(owner "$path") loaded"; else echo "$(owner "$path") loaded-by-others"; fi
    done
    for part in "${parts[@]}"; do
        case $part in
        *.a) echo "$(owner "$part") linked-statically" ;;
        *.so.*)
            echo "$(owner "$part") loaded-when-needed"
            ldd "$part" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | while read -r path; do echo "$(owner "$path") loaded-by-others"; done
            ;;
        *) echo "$(owner "$part") compiled-in" ;;
        esac
    done
}

# Of several ways the first counts.
list=$(parts | awk '{ rank = $2 == "loaded-by-others" ? 1 : 0 } !($1 in how) || rank < ranks[$1] { how[$1] = $2; ranks[$1] = rank }
    END { for (name in how) print name, how[name] }' | LC_ALL=C sort)
reference() { # PACKAGE[:ARCHITECTURE]
    dpkg-query -W -f 'pkg:deb/debian/${Package}@${Version}?arch=${Architecture}' "$1" | sed 's/+/%2B/g; s/~/%7E/g'
    printf '&distro=%s' "$distribution"
}

digest=$(sha256sum <"$program" | cut -d' ' -f1)
hash=$({ echo "$digest"; echo "$list"; } | sha256sum)
cat <<END
{
  "bomFormat": "CycloneDX",
  "specVersion": "1.5",
  "serialNumber": "urn:uuid:${hash:0:8}-${hash:8:4}-5${hash:13:3}-8${hash:17:3}-${hash:20:12}",
  "version": 1,
  "metadata": {
    "timestamp": "$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)",
    "component": {
      "type": "$type",
      "bom-ref": "$name",
      "name": "$name",
      "version": "$version",
      "licenses": [{"license": {"id": "Apache-2.0"}}],
      "hashes": [{"alg": "SHA-256", "content": "$digest"}]
    }
  },
  "components": [
END
separator=
while read -r package how; do
    printf '%s    {"type": "library", "bom-ref": "%s", "name": "%s", "version": "%s", "purl": "%s", "properties": [{"name": "isochron:linkage", "value": "%s"}, {"name": "isochron:source", "value": "%s"}]}' \
        "$separator" "$(reference "$package")" "${package%%:*}" "$(dpkg-query -W -f '${Version}' "$package")" "$(reference "$package")" "$how" \
        "$(dpkg-query -W -f '${source:Package} ${source:Version}' "$package")"
    separator=$',\n'
done <<<"$list"
printf '\n  ],\n  "dependencies": [{"ref": "%s", "dependsOn": [' "$name"
separator=
while read -r package how; do
    [ "$how" = loaded-by-others ] && continue
    printf '%s"%s"' "$separator" "$(reference "$package")"
    separator=', '
done <<<"$list"
printf ']}]\n}\n'
