#!/usr/bin/env python3
"""Prints the sources that the README of their room does not name, and exits 1.

   tests/system/documents/rooms.py [FOLDER]    .

A README stands in the source's folder or above it. A file is named without its ending or with it, in backquotes or in a block of code, and
may be a pattern (`argue*`). NAME_private.h is named by its room."""
import fnmatch, os, re, sys


def readme_of(folder):
    while folder and not os.path.exists(f"{folder}/README.md"):
        folder = os.path.dirname(folder)
    return folder


def names_in(readme):
    text = open(readme).read()
    code = re.findall(r"^```.*?^```|`[^`\n]+`", text, re.M | re.S)
    return {word.rpartition("/")[2] for part in code for word in re.findall(r"[\w*/]+", part)}


def unnamed(root):
    for folder, _, files in os.walk(root):
        sources = sorted(file for file in files if file.endswith((".c", ".h")))
        readme = readme_of(folder)
        names = names_in(f"{readme}/README.md") if readme else set()
        for source in sources:
            stem = source[:-2]
            if not stem.endswith("_private") and not any(fnmatch.fnmatch(stem, name) for name in names):
                yield f"{folder}/{source}: not in {readme + '/README.md' if readme else 'any README.md'}"


os.chdir(sys.argv[1] if len(sys.argv) > 1 else ".")
missing = [line for root in ("src", "connectors") for line in unnamed(root)]
print(*missing, sep="\n", end="\n" if missing else "")
sys.exit(bool(missing))
