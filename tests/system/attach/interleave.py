#!/usr/bin/env python3
"""Captures in other interleavings of their partitions; each partition keeps its own order.

    interleave.py CAPTURE COUNT FOLDER [RECORDS]     writes FOLDER/1.jsonl, FOLDER/2.jsonl, ... out of COUNT that are drawn

RECORDS, a file of clients' records, becomes one more partition: of topic "clients". Equal ones are written once, and the same ones at
every run. Takes turns between three ways that a consumer may meet partitions in: message by message, in bursts,
and one partition after another. Batch marks of a recording (empty lines) are left out, the partitions that it waited for stay first.
"""
import json
import random
import subprocess
import sys


def read_lines(path):
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-dqc", path], stdout=subprocess.PIPE, check=True).stdout.splitlines(True)
    with open(path, "rb") as file:
        return file.read().splitlines(True)


def partitions_of(lines):
    """The declarations, and the messages of each partition in their order."""
    declared, partitions = [], {}
    for line in lines:
        if not line.strip():
            continue
        message = json.loads(line)
        if "offset" not in message:
            declared.append(line)
            continue
        partitions.setdefault((message["topic"], message["partition"]), []).append(line)
    return declared, list(partitions.values())


def as_messages(records):
    for offset, record in enumerate(records):
        message = {"topic": "clients", "partition": 0, "offset": offset, "key": None, "payload": record.decode().strip()}
        yield json.dumps(message).encode() + b"\n"


def burst(way, left, chance):
    """How many messages come from a partition before another one's turn."""
    return [1, chance.randint(1, 20), left][way]


def interleaved(partitions, way, chance):
    places = [0] * len(partitions)
    while True:
        left = [len(lines) - place for lines, place in zip(partitions, places)]
        if not any(left):
            return
        # Message by message the long ones have their turns more often, so that all end together.
        weights = left if way == 0 else [1 if count else 0 for count in left]
        at = chance.choices(range(len(partitions)), weights)[0]
        count = min(burst(way, left[at], chance), left[at])
        yield from partitions[at][places[at]:places[at] + count]
        places[at] += count


def main():
    capture, count, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    declared, partitions = partitions_of(read_lines(capture))
    if len(sys.argv) > 4:
        partitions.append(list(as_messages(read_lines(sys.argv[4]))))
    chance = random.Random(14)
    drawn = set()
    for number in range(count):
        text = b"".join(declared + list(interleaved(partitions, number % 3, chance)))
        if hash(text) in drawn:
            continue
        drawn.add(hash(text))
        with open(f"{folder}/{len(drawn)}.jsonl", "wb") as file:
            file.write(text)


if __name__ == "__main__":
    main()
