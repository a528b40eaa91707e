#!/usr/bin/env python3
"""Judges a recording that ends early, again and again, and says what is wrong with the verdicts.

    cuts.py CAPTURE COUNT SEED OPTION...     the options are those of `isochron replay`; ISOCHRON is the program

A recording is cut in one of four ways: each partition where it may be, the run at one message, the change stream alone, the records
alone. `--history FILE` becomes one more partition. What is not there can be no lie of the database, and what was not judged does not hold:

    a violation that the whole recording does not have, a bad record or a failure         is wrong
    "holds" beside a transaction of which an END or a record tells and that is not whole  is wrong

The last of standard output is "N cuts: H hold, U undecided, V violated"; exit status 1 if anything was wrong.
"""
import concurrent.futures
import functools
import os
import random
import sys

from recording import Recording, judge


def draw(recording, chance):
    """The numbers of the messages that come."""
    messages = recording.messages
    places = sorted({m.place for m in messages if not m.declares})
    of_clients = {m.place for m in messages if m.is_record}
    way = chance.choice(["partitions", "run", "stream", "records"])
    if way == "run":
        end = chance.randrange(len(messages) + 1)
        return {n for n, m in enumerate(messages) if n < end or m.declares}
    share = chance.random()
    left = {}
    for place in places:
        count = sum(m.place == place and not m.declares for m in messages)
        cut = chance.random() < 0.5 if way == "partitions" else (place in of_clients) == (way == "records")
        share = chance.random() if way == "partitions" else share
        left[place] = int(count * share) if cut else count
    kept = set()
    for number, message in enumerate(messages):
        if message.declares:
            kept.add(number)
        elif left[message.place] > 0:
            left[message.place] -= 1
            kept.add(number)
    return kept


@functools.lru_cache(None)
def found_in_whole(recording, options):
    """Only cuts that find something ask for it."""
    return judge([m.line for m in recording.messages], options)[2]


def wrong(recording, options, seed):
    """What is wrong with the verdict on one cut, and what it was."""
    kept = draw(recording, random.Random(seed))
    status, verdict, found, said = judge([recording.messages[n].line for n in sorted(kept)], options)
    unknown = sorted(found - found_in_whole(recording, tuple(options)), key=str) if found else []
    if unknown:
        return f"{len(unknown)} violations, the first: {unknown[0]}", verdict["verdict"]
    if status not in (0, 1, 3):
        return f"exit status {status}: {said[-300:]}", None
    why = recording.not_whole(kept) if status == 0 else None
    return why and f"holds, and {why}", verdict["verdict"]


def main():
    capture, count, first, options = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    records = None
    if "--history" in options:
        at = options.index("--history")
        records = options[at + 1]
        options[at:at + 2] = ["--source", "history:clients"]
    recording = Recording(capture, records, options)
    verdicts, bad = [], 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for seed, (what, verdict) in zip(range(first, first + count),
                                         pool.map(lambda seed: wrong(recording, options, seed), range(first, first + count))):
            verdicts.append(verdict)
            bad += what is not None
            if what is not None and bad <= 3:
                print(f"cut {seed}: {what}")
    counts = [verdicts.count(v) for v in ("holds", "undecided", "violated")]
    print(f"{count} cuts: {counts[0]} hold, {counts[1]} undecided, {counts[2]} violated; {bad} wrong")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
