#!/usr/bin/env python3
"""Draws docs/modules.md: a band a floor, the highest on top, a box a room. SVG on stdout.

    docs/modules.py [ROOT] >docs/modules.svg

Rooms of one floor stand in columns: a room to the right of those that it includes. The same table gives the same bytes.
"""
import os
import sys

BOX, HIGH, GAP, LEFT, BAND = 128, 26, 10, 130, 14


def read_floors(path):
    """Floors from the lowest to the highest: a name, and rooms with what they may include. Tests are no floor."""
    floors = []
    with open(path, encoding="utf-8") as table:
        for line in table:
            if line.startswith("## "):
                floors.append((line[3:].strip(), {}))
            elif line.startswith("|") and floors and not line.startswith(("|-", "| module")):
                cells = [cell.strip() for cell in line.split("|")]
                floors[-1][1][cells[1]] = cells[3].split()
    return [floor for floor in floors if floor[0] != "tests"]


def columns(rooms):
    """By the longest way to a room of this floor that includes none of it."""
    def depth(name):
        return 1 + max((depth(other) for other in rooms[name] if other in rooms and other != name), default=-1)

    found = {}
    for name in sorted(rooms):
        found.setdefault(depth(name), []).append(name)
    return [found[key] for key in sorted(found)]


def draw(floors):
    laid = [(name, columns(rooms)) for name, rooms in reversed(floors)]
    width = LEFT + max(len(each) for _, each in laid) * (BOX + GAP) + GAP
    bands, top = [], GAP
    for name, each in laid:
        height = max(map(len, each)) * (HIGH + GAP) - GAP + 2 * BAND
        bands.append(f'<rect x="{GAP}" y="{top}" width="{width - 2 * GAP}" height="{height}" rx="6" fill="#f4f4ee" stroke="#bbb"/>'
                     f'<text x="{2 * GAP}" y="{top + height / 2 + 5:.0f}" font-weight="bold">{name}</text>')
        for column, rooms in enumerate(each):
            x, y = LEFT + column * (BOX + GAP), top + (height - len(rooms) * (HIGH + GAP) + GAP) / 2
            for room in rooms:
                label = room.replace("connectors/", "")
                fill = "#e8f0e4" if label != room else "#e6ecf6"
                bands.append(f'<rect x="{x}" y="{y:.0f}" width="{BOX}" height="{HIGH}" rx="4" fill="{fill}" stroke="#556"/>'
                             f'<text x="{x + BOX / 2:.0f}" y="{y + 18:.0f}" text-anchor="middle">{label}</text>')
                y += HIGH + GAP
        top += height + GAP
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" font-family="sans-serif" font-size="13">\n'
          "<title>Floors and their rooms; drawn from docs/modules.md by docs/modules.py</title>\n"
          f'<rect width="{width}" height="{top}" fill="#fff"/>')
    print("\n".join(bands))
    print("</svg>")


root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
draw(read_floors(os.path.join(root, "docs/modules.md")))
