#!/usr/bin/env python3
"""A serial history of few values, as a capture of `txns`: one partition comes behind another, so that most of it is late.

    few_values.py SEED
"""
import json
import random
import sys

draw = random.Random(int(sys.argv[1]))
TRANSACTIONS, KEYS, VALUES, PARTITIONS = 3000, 100, 3, 3
now, records = {}, []
for i in range(TRANSACTIONS):
    own, operations = {}, []
    for _ in range(4):
        key = draw.randrange(KEYS)
        if draw.random() < 0.5:
            own[key] = draw.randrange(VALUES)
            operations.append({"t": "w", "k": str(key), "v": own[key]})
        else:
            operations.append({"t": "r", "k": str(key), "v": own.get(key, now.get(key))})
    now |= own
    records.append({"tid": str(i), "sid": str(i % 30), "sts": 2 * i + 1, "cts": 2 * i + 2, "ops": operations})
for partition in range(PARTITIONS):
    mine = [r for r in records if int(r["sid"]) % PARTITIONS == partition] + [{"watermark": "100000"}]
    for offset, record in enumerate(mine):
        print(json.dumps({"topic": "txns", "partition": partition, "offset": offset, "key": None, "payload": json.dumps(record)}))
