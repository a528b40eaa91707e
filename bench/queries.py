#!/usr/bin/python3
"""Makes a history of one table: updates of a row each, and, of every hundred transactions, five that read 20 rows in a row.

    queries.py points|ranges|conditions TRANSACTIONS FILE

`points` reads them one by one, `ranges` by bounds, `conditions` by bounds and a condition that all of them match: the same rows,
the same values."""
import json
import random
import sys

ROWS, SPAN, SHARE = 20000, 20, 0.05


def reads(how, first, values):
    rows = {str(row): {"b": values[row]} for row in range(first, first + SPAN)}
    if how == "points":
        return [{"t": "r", "row": f"acct/{row}", "cells": cells} for row, cells in rows.items()]
    query = {"t": "q", "table": "acct", "from": str(first), "to": str(first + SPAN - 1), "rows": rows}
    if how == "conditions":
        query["where"] = "b >= 0 and b is not null"
    return [query]


def main():
    how, transactions, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    draw, values, now = random.Random(7), [0] * ROWS, 0
    with open(path, "w") as file:
        def write(tid, operations, is_read):
            nonlocal now
            now += 2
            file.write(json.dumps({"tid": tid, "sid": tid % 16, "sts": now, "cts": now + (not is_read), "ops": operations}) + "\n")

        for tid in range(ROWS // 100):
            write(tid, [{"t": "w", "row": f"acct/{row}", "cells": {"b": 0}} for row in range(100 * tid, 100 * tid + 100)], False)
        for tid in range(ROWS // 100, ROWS // 100 + transactions):
            if draw.random() < SHARE:
                write(tid, reads(how, draw.randrange(ROWS - SPAN), values), True)
                continue
            row = draw.randrange(ROWS)
            before, values[row] = values[row], draw.randrange(1 << 20)
            write(tid, [{"t": "r", "row": f"acct/{row}", "cells": {"b": before}},
                        {"t": "w", "row": f"acct/{row}", "cells": {"b": values[row]}}], False)


main()
