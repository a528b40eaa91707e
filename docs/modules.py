#!/usr/bin/env python3
"""Draws docs/modules.md: one box a module, an arrow from each to what it includes. SVG on stdout.

    docs/modules.py [ROOT] >docs/modules.svg

What everyone includes (base, iso) and what follows from other arrows is left out, so that what is left can be seen. The
layout is the usual one of layered graphs: ranks by the longest way, long arrows through points of their own, order
within a rank by the mean of the neighbours. Nothing in it is random: the same table gives the same bytes.
"""
import os
import sys

WIDTH, COLUMN, BOX, ROW, BEND = 150, 232, 26, 38, 14
EVERYWHERE = ("base", "iso")


def read_table(path):
    modules = {}
    with open(path, encoding="utf-8") as table:
        for line in table:
            if line.startswith("|") and not line.startswith(("|-", "| module")):
                cells = [cell.strip() for cell in line.split("|")]
                modules[cells[1]] = (cells[2], cells[3].split())
    program = {name for name in modules if name.split("/")[0] not in ("tests", "bench")}
    return {name: [other for other in modules[name][1] if other in program] for name in modules if name in program}


def reachable(graph, start):
    found, work = set(), list(graph[start])
    while work:
        name = work.pop()
        if name not in found:
            found.add(name)
            work += graph[name]
    return found


def reduced(graph):
    """Without arrows that a longer way implies, and without those to what everyone includes."""
    below = {name: reachable(graph, name) for name in graph}
    return {name: [other for other in graph[name] if other not in EVERYWHERE
                   and not any(other in below[between] for between in graph[name] if between != other)]
            for name in graph if name not in EVERYWHERE}


def ranks_of(graph):
    """By the longest way from the top; what nobody includes stands at the top, but never before it has to."""
    above = {name: [] for name in graph}
    for name, others in graph.items():
        for other in others:
            above[other].append(name)
    rank = {}

    def set_rank(name):
        if name not in rank:
            rank[name] = 1 + max((set_rank(other) for other in above[name]), default=-1)
        return rank[name]

    for name in graph:
        set_rank(name)
    for name in graph:  # a module that nobody includes stands beside those that it could be included by
        if not above[name]:
            rank[name] = max(0, min((rank[other] for other in graph[name]), default=max(rank.values()) + 1) - 1)
    return rank


def layout(graph, rank):
    """Ranks as lists of points: modules by name, and bends of long arrows as (from, to, rank)."""
    columns = [[] for _ in range(max(rank.values()) + 1)]
    for name in sorted(graph):
        columns[rank[name]].append(name)
    links = []
    for name in sorted(graph):
        for other in graph[name]:
            previous = name
            for middle in range(rank[name] + 1, rank[other]):
                bend = (name, other, middle)
                columns[middle].append(bend)
                links.append((previous, bend))
                previous = bend
            links.append((previous, other))
    neighbours = [{}, {}]
    for start, end in links:
        neighbours[0].setdefault(end, []).append(start)
        neighbours[1].setdefault(start, []).append(end)
    place = {}

    def number(column):
        at = 0.0
        heights = [BEND if isinstance(point, tuple) else ROW for point in column]
        at = -sum(heights) / 2
        for point, height in zip(column, heights):
            place[point] = at + height / 2
            at += height

    for column in columns:
        number(column)
    for sweep in range(24):
        forward = sweep % 2 == 0
        for column in columns if forward else reversed(columns):
            side = neighbours[0 if forward else 1]
            mean = {point: (sum(place[other] for other in side[point]) / len(side[point]) if point in side else place[point])
                    for point in column}
            column.sort(key=lambda point: (mean[point], str(point)))
            number(column)
    return columns, place


def draw(graph):
    rank = ranks_of(graph)
    columns, place = layout(graph, rank)
    top = min(place.values()) - ROW
    height = max(place.values()) - top + ROW
    width = COLUMN * (len(columns) - 1) + WIDTH + 40

    def x_of(point):
        return 20 + COLUMN * (point[2] if isinstance(point, tuple) else rank[point])

    def y_of(point):
        return place[point] - top

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" font-family="sans-serif" font-size="13">',
             "<title>Modules and what they include; drawn from docs/modules.md by docs/modules.py</title>",
             '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
             '<path d="M0 0L8 4L0 8z" fill="#667"/></marker></defs>',
             f'<rect width="{width}" height="{height:.0f}" fill="#fff"/>', '<g fill="none" stroke="#99a" stroke-width="1.1">']
    for name in sorted(graph):
        for other in graph[name]:
            points = [name] + [(name, other, middle) for middle in range(rank[name] + 1, rank[other])] + [other]
            x, y = x_of(name) + WIDTH, y_of(name)
            path = f"M{x} {y:.0f}"
            for point in points[1:]:
                left, at = x_of(point), y_of(point)
                middle = (x + left) / 2
                path += f"C{middle:.0f} {y:.0f} {middle:.0f} {at:.0f} {left} {at:.0f}"
                x, y = left, at
                if isinstance(point, tuple):
                    x += WIDTH
                    path += f"H{x}"
            lines.append(f'<path d="{path}" marker-end="url(#a)"/>')
    lines.append("</g>")
    for name in sorted(graph):
        fill = "#e8f0e4" if name.startswith("connectors/") else "#e6ecf6"
        x, y = x_of(name), y_of(name)
        lines.append(f'<rect x="{x}" y="{y - BOX / 2:.0f}" width="{WIDTH}" height="{BOX}" rx="4" fill="{fill}" stroke="#556"/>'
                     f'<text x="{x + WIDTH / 2:.0f}" y="{y + 5:.0f}" text-anchor="middle">{name}</text>')
    lines.append("</svg>")
    print("\n".join(lines))


root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
draw(reduced(read_table(os.path.join(root, "docs/modules.md"))))
