#!/usr/bin/env python3
"""Files, functions and modules that documents name exist. Prints one line a fault, "page:line: what is wrong"; exits 1 if
there is one.

    names.py [ROOT]     the tree to look at, this repository by default

In Markdown a name of C stands between backquotes. `src/engines/aion/structures/sorted_chunks.h` must be a file or folder; `run.h` one of the page's own
folder, or one path in the tree must end like that. In a table, `file` | `function` in neighbouring cells, and in a sentence
`function` (`file`): the function is in the file. A name that begins as ours do (`iso_...`) is in some source; so is, where a page
is about code (ARCHITECTURE, CONTRIBUTING, READMEs in src), any name of small letters with an underscore. Each module of
docs/modules.md that is part of the program is in ARCHITECTURE.md. Each folder of sources has a README.

In comments of sources, too, a file that is named exists; and in a header whose declarations stand under names of files
(`/* open.c: ... */`), each function is in the file under whose name it stands.
"""
import os
import re
import sys

root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
faults = 0


def fault(page, number, text):
    global faults
    faults += 1
    print(f"{os.path.relpath(page, root)}:{number}: {text}")


def tree():
    for folder in ("include", "src", "connectors", "tests", "bench", "deploy", "docs", "examples"):
        for path, folders, files in os.walk(os.path.join(root, folder)):
            folders[:] = [name for name in folders if name != "data"]
            for name in files:
                yield os.path.relpath(os.path.join(path, name), root)


def pages():
    for folder in ("", "docs", "deploy"):
        for name in sorted(os.listdir(os.path.join(root, folder)) if os.path.isdir(os.path.join(root, folder)) else []):
            if name.endswith(".md") and name not in ("CHANGELOG.md", "options.md"):
                yield os.path.join(root, folder, name)
    for path in sorted(paths):
        if path.endswith(("/README.md", "/FORMATS.md")) and path.startswith(("src", "connectors", "include")):
            yield os.path.join(root, path)


paths = set(tree())
words = set()
for path in paths:
    if path.endswith((".c", ".h")):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as source:
            words.update(re.findall(r"\b\w+_\w+", source.read()))
ends = {}
for path in paths:
    parts = path.split("/")
    for at in range(len(parts)):
        ends.setdefault("/".join(parts[at:]), path)


def is_there(page, name):
    if name in ends or os.path.exists(os.path.join(os.path.dirname(page), name)) or os.path.exists(os.path.join(root, name)):
        return True
    if name + ".c" in paths or name.startswith(("build/", "_")):
        return True
    return "*" in name or "NAME" in name


WORD = re.compile(r"^(?:struct )?((?:iso|aion|join|pipeline|app|run|cli|kafka|chronos|graph)_\w+)(?:\(\))?$")
NAME = re.compile(r"^(?:[\w.-]+/)*[\w.-]+\.(?:c|h|py|md|tsv)$|^(?:src|connectors|tests|bench|include|docs)/[\w./-]+$")
ANY = re.compile(r"^(?:struct |enum )?([a-z]\w*_\w+)(?:\(\))?$")
for page in pages():
    fenced = False
    shape = ANY if re.match(r"(ARCHITECTURE|CONTRIBUTING)\.md$|src/", os.path.relpath(page, root)) else WORD
    with open(page, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if fenced:
                continue
            for name in re.findall(r"`([^`\s]+)`", line):
                if NAME.match(name) and not is_there(page, name):
                    fault(page, number, f"there is no {name}")
            for name in re.findall(r"`([^`]+)`", line):
                word = shape.match(name)
                if word and word.group(1) not in words:
                    fault(page, number, f"no source has {word.group(1)}")
            cells = [cell.strip() for cell in line.split("|")]
            said = [(file.strip("`"), function.strip("`")) for file, function in zip(cells, cells[1:])
                    if re.fullmatch(r"`[\w./-]+\.[ch]`", file) and re.fullmatch(r"`\w+`", function)]
            said += [(file, function) for function, file in re.findall(r"`(\w+)` \(`(\w+/[\w./-]+\.[ch])`\)", line)]
            for file, function in said:
                path = os.path.join(root, file)
                text = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
                if not re.search(r"\b" + function + (r"\b" if function.isupper() else r"\("), text):
                    fault(page, number, f"{file} has no {function}")

architecture = os.path.join(root, "ARCHITECTURE.md")
text = open(architecture, encoding="utf-8").read() if os.path.exists(architecture) else ""
with open(os.path.join(root, "docs/modules.md"), encoding="utf-8") as table:
    for number, line in enumerate(table, 1):
        if line.startswith("|") and not line.startswith(("|-", "| module")):
            module = line.split("|")[1].strip()
            if module.split("/")[0] not in ("tests", "bench") and f"`{module}`" not in text:
                fault(architecture, 0, f"module {module} is not there")

def room(path):
    return "/".join(path.split("/")[:-1][:3 if path.startswith("src/") else 2])


sources = {}
defined = {}
for path in sorted(paths):
    if re.match(r"(src|connectors)/.*\.[ch]$", path):
        with open(os.path.join(root, path), encoding="utf-8") as source:
            sources[path] = source.read()
        for function in re.findall(r"^(?!static)[A-Za-z_][\w *]*?\b(\w+)\([^;{}]*\)\s*\n\{", sources[path], re.M):
            defined[room(path), function] = os.path.basename(path)
COMMENT = r"/\*.*?\*/"
DECLARED = r"^[A-Za-z_][^;{}=]*?\b(\w+)\([^;{}]*\)(?: ISO_\w+(?:\([^)]*\))?)?;"
for path, text in sources.items():
    under = []
    for found in re.finditer(COMMENT + "|" + DECLARED, text, re.S | re.M):
        number = text.count("\n", 0, found.start()) + 1
        if not found.group(0).startswith("/*"):
            inside = defined.get((room(path), found.group(1)))
            if path.endswith(".h") and under and inside and inside not in under:
                fault(os.path.join(root, path), number, f"{found.group(1)} is in {inside}, and stands under {under[0]}")
            continue
        for name in re.findall(r"(?<![\w./-])(?:\w+/)*\w+\.[ch]\b(?!\()", found.group(0)):
            if not is_there(os.path.join(root, path), name):
                fault(os.path.join(root, path), number, f"there is no {name}")
        section = re.match(r"/\*\s*(?:---- )?((?:\w+\.c(?:, | and )?)+)(?:: | ----|\s*\*/|\. )", found.group(0))
        under = re.findall(r"\w+\.c", section.group(1)) if section else under

for folder in sorted({os.path.dirname(path) for path in paths if re.match(r"(src|connectors)/.*\.[ch]$", path)}):
    if not any(os.path.exists(os.path.join(root, each, "README.md")) for each in (folder, os.path.dirname(folder))):
        fault(os.path.join(root, folder), 0, "there is no README.md")
sys.exit(faults > 0)
