#!/usr/bin/env python3
"""Figures of the source tree: how large it is, how large its structs are, which files include one another in a circle,
how many assertions it has, and how many lines stand in it more than once.

    figures.py [NAME=]FOLDER...     each folder a tree; one column of the table each, as Markdown on stdout

Standard library only. What it counts, it counts in src, connectors and include, as text: nothing is compiled.
"""
import collections
import glob
import os
import re
import sys

ROOTS = ("include", "src", "connectors")
REPEATED = 8  # lines: as many of the same shape, one after the other, count as repeated
LARGEST = 12  # structs that are listed


def sources(folder, roots=ROOTS):
    for root in roots:
        for path, folders, files in os.walk(os.path.join(folder, root)):
            folders.sort()
            for name in sorted(files):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(path, name), folder)


def module_of(path):
    parts = path.split(os.sep)
    if parts[0] == "src":
        return "/".join(parts[1:-1])
    return "/".join(parts[:2])


def unit_of(path):
    """What belongs together: NAME.c, NAME.h and NAME_private.h."""
    return re.sub("_private$", "", os.path.splitext(path)[0])


def without_comments(text):
    def blank(match):
        found = match.group(0)
        return found if found[0] in "\"'" else re.sub(r"[^\n]", " ", found)

    return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', blank, text, flags=re.S)


def members(body):
    """How many members a struct's body declares: names between the semicolons of its own level."""
    depth, count, names, seen = 0, 0, 1, False
    for character in body:
        if character in "{([":
            depth += 1
        elif character in "})]":
            depth -= 1
        elif depth == 0 and character == ",":
            names += 1
        elif depth == 0 and character == ";":
            count += names if seen else 0
            names, seen = 1, False
            continue
        seen = seen or not character.isspace()
    return count


def structs(text):
    for match in re.finditer(r"\bstruct\s+(\w+)\s*\{", text):
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        yield match.group(1), members(text[match.end():at - 1])


def circles(includes):
    """Strongly connected components of more than one file (Tarjan, without recursion)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in includes:
        if root in index:
            continue
        work = [(root, iter(sorted(includes[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(includes.get(other, ())))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    if len(component) > 1:
                        found.append(sorted(component))
    return found


KEYWORDS = set("""if else for while do return break continue switch case default goto sizeof struct enum union static const inline
void bool char int unsigned uint8_t uint16_t uint32_t uint64_t int64_t size_t NULL true false""".split())


def shape(line, names):
    """A line without what is particular to it: numbers and texts, and unless `names` are kept, names."""
    line = re.sub(r"\s+", " ", re.sub(r'"[^"]*"', "S", line.strip()))
    if not names:
        line = re.sub(r"\b[A-Za-z_]\w*", lambda word: word.group(0) if word.group(0) in KEYWORDS else "I", line)
    return re.sub(r"\b\d\w*\b", "N", line)


def repeated(texts, names):
    """How many lines stand in runs of REPEATED lines that occur more than once."""
    windows = collections.defaultdict(list)
    for path, text in texts:
        lines = [(number, shape(line, names)) for number, line in enumerate(text.split("\n"))]
        lines = [(number, line) for number, line in lines if len(line) > 1 and not line.startswith("#")]
        for at in range(len(lines) - REPEATED + 1):
            windows["\n".join(line for _, line in lines[at:at + REPEATED])].append(
                (path, [number for number, _ in lines[at:at + REPEATED]]))
    found = set()
    for places in windows.values():
        for path, numbers in places if len(places) > 1 else []:
            found.update((path, number) for number in numbers)
    return len(found)


def measure(folder):
    figures = {"lines": collections.Counter(), "structs": [], "assertions": 0, "includes": {}, "functions": 0}
    texts = []
    for path in sources(folder):
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            text = file.read()
        plain = without_comments(text)
        figures["lines"][module_of(path)] += text.count("\n")
        figures["structs"] += [(count, name, path) for name, count in structs(plain)]
        figures["assertions"] += len(re.findall(r"\b(?:assert|ISO_ASSERT|_Static_assert|static_assert)\s*\(", plain))
        unit = unit_of(path)
        includes = figures["includes"].setdefault(unit, set())
        for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', text, flags=re.M):
            for prefix in [f"{floor}/" for floor in glob.glob("src/*", root_dir=folder)] + ["src/", "", "include/"]:
                if os.path.exists(os.path.join(folder, prefix + name)):
                    includes.add(unit_of(prefix + name))
                    break
        includes.discard(unit)
        texts.append((path, plain))
    figures["repeated"] = repeated(texts, True)
    figures["alike"] = repeated(texts, False)
    figures["circles"] = circles(figures["includes"])
    figures["tests"] = sum(1 for path in sources(folder, ("tests", "bench"))
                           for _ in open(os.path.join(folder, path), encoding="utf-8"))
    return figures


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    named = [(argument.split("=", 1) if "=" in argument else (argument, argument)) for argument in arguments]
    trees = [measure(folder) for _, folder in named]
    if any(not tree["lines"] for tree in trees):
        sys.exit("figures.py: a folder without sources")
    names = [name for name, _ in named]

    row("figure", *names)
    row(*["---"] * (len(names) + 1))
    totals = [sum(tree["lines"].values()) for tree in trees]
    row("lines of C in src, connectors, include", *totals)
    row("lines of C in tests, bench", *[tree["tests"] for tree in trees])
    row("modules", *[len(tree["lines"]) for tree in trees])
    row("members of the largest struct", *[max(tree["structs"])[0] for tree in trees])
    row("structs of more than 40 members", *[sum(struct[0] > 40 for struct in tree["structs"]) for tree in trees])
    row("circles of files", *[len(tree["circles"]) for tree in trees])
    row("files in circles", *[sum(map(len, tree["circles"])) for tree in trees])
    row("assertions per 1000 lines", *[f"{1000 * tree['assertions'] / total:.1f}" for tree, total in zip(trees, totals)])
    row(f"lines that stand more than once ({REPEATED} in a row)", *[tree["repeated"] for tree in trees])
    row("the same, whatever the names are", *[tree["alike"] for tree in trees])

    print()
    row("largest structs", *["members"] * len(names))
    row(*["---"] * (len(names) + 1))
    count_of = [{} for _ in trees]
    for counts, tree in zip(count_of, trees):
        for count, name, path in tree["structs"]:
            key = f"{name} ({module_of(path)})"
            counts[key] = max(count, counts.get(key, 0))
    listed = set()
    for counts in count_of:
        listed |= set(sorted(counts, key=lambda key: (-counts[key], key))[:LARGEST])
    for key in sorted(listed, key=lambda key: (-max(counts.get(key, 0) for counts in count_of), key)):
        row(f"`{key}`", *[counts.get(key, "") for counts in count_of])

    print()
    change = ["change"] if len(trees) > 1 else []  # from the first tree to the last
    row("lines by room", *names, *change)
    row(*["---"] * (len(names) + len(change) + 1))
    for module in sorted(set().union(*[tree["lines"] for tree in trees])):
        lines = [tree["lines"].get(module, 0) for tree in trees]
        row(module, *[count or "" for count in lines], *[f"{lines[-1] - lines[0]:+}" for _ in change])

    for name, tree in zip(names, trees):
        for circle in tree["circles"]:
            print(f"\nA circle in {name}: {', '.join(circle)}")


main(sys.argv[1:])
