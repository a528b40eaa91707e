#!/usr/bin/python3 -B
"""Is what isochron-proxy records true? Statements through the proxy to a PostgreSQL of its own; behind each one, in the same snapshot,
all tables are read again, and each operation of each record is compared with that; writes with the logical stream.

    reread.py random [--seed S] [--statements N] [--workers N] [--shrink N]    statements at random (generate.py)
    reread.py case FILE...                               steps as they stand in files (steps.py)
    reread.py app [--schema FILE] -- COMMAND...          another program's statements: PGHOST, PGPORT, PGUSER are set for it

--proxy FILE: the proxy, build/isochron-proxy. --session N: only this one of the seed's. Prints TAP and figures; exit status 1 if something
was untrue. A session that failed is made smaller and printed as a case, to be put into cases/ when the fault is mended.
"""
import argparse
import multiprocessing
import os
import random
import re
import subprocess
import sys
import time
import traceback

import generate
import steps as texts
import wire
from stack import Client, Stack

HERE = os.path.dirname(os.path.abspath(__file__))
SESSION = 250  # statements, at least
BLOCK, WITH_OVERLOADS = 4, 8  # so many sessions follow each other, on the same tables; the last of so many blocks has overloads


def play(stack, steps, renews=False):
    """One session's steps; gives its trace, and whether tables were changed. `renews`: by a proxy that knows the tables as they are when the
    client comes: else a case could pass since nothing of it is recorded."""
    client, session = None, None
    for step in steps:
        if step.kind == "client":
            if client:
                over(stack, client, session)
            elif renews:
                stack.other_proxy(stack.proxy_path)
            stack.number += 1
            try:
                client = Client(stack, **step.options)
            except (OSError, wire.Failed) as e:
                stack.count("connections refused")
                raise SystemExit("no connection: %s" % e)
            session = stack.tap.sessions[-1]
            session.number = stack.number
            continue
        if step.kind == "direct":
            stack.tap.dynamic = True
            try:
                stack.side.ask(step.sql)
            except wire.Failed as e:
                stack.count("direct failed: " + str(e)[:5])
            continue
        if client.status == b"E" and not re.match(r"\s*(COMMIT|ROLLBACK)", step.sql):
            if client.begun and not (client.send(wire.query("ROLLBACK"), 1)
                                     and client.send(wire.query(client.begun), 1)):
                break
        if re.match(r"BEGIN|START", step.sql):
            client.begun = step.sql
        data, ready = step.messages()
        alive = client.send(data, ready)
        stack.count("statements", step.count())
        if client.errors:
            stack.count("failed")
            stack.count("failed " + client.errors[0][:5])
        if not alive:
            stack.count("broken")
            print("# broken: %s: %s" % (client.errors, step.text()), flush=True)
            client.close()
            client = None
            break
    if client:
        over(stack, client, session)
    return session, stack.tap.has_changed()


def over(stack, client, session):
    client.close()
    until = time.monotonic() + 5
    while not session.ended and time.monotonic() < until:
        stack.tap.turn(0.5)
    session.ended_at = time.monotonic()
    stack.pending.append(session)
    stack.tap.sessions.remove(session)


def steps_of(seed, number):
    rng = random.Random("%d/%d" % (seed, number))
    steps = generate.Sessions(rng).steps(SESSION)
    if rng.random() < .1:
        places = [i for i, step in enumerate(steps) if step.sql in ("COMMIT", "ROLLBACK")
                  or rng.random() < .05]
        steps.insert(rng.choice(places) + 1, texts.Step("direct", rng.choice(generate.DIRECT)))
    return steps


class Worker:
    def __init__(self, options, schema):
        self.options, self.schema = options, schema
        self.stack = Stack(options.proxy, schema)
        self.stack.reset(False)
        self.texts_of, self.overloaded = {}, False
        with open(os.path.join(HERE, "overloads.sql"), encoding="utf-8") as f:
            self.more = f.read()

    def overloads(self, number):
        wanted = number // BLOCK % WITH_OVERLOADS == WITH_OVERLOADS - 1
        if wanted != self.overloaded:
            self.found += self.stack.settle(True)
            self.stack.schema, self.overloaded = self.schema + (self.more if wanted else ""), wanted
            self.stack.reset(True)

    def run(self, steps, name):
        stack = self.stack
        before = stack.tap.committed()
        session, changed = play(stack, steps)
        if session:
            self.texts_of[session.number] = (name, steps)
        if changed:
            self.found += stack.settle(True)
            stack.reset(True)
        elif stack.tap.committed().text != before.text:
            stack.reset(False)
        self.found += stack.settle()

    found = ()

    def sessions(self, numbers, many):
        """Until so many statements were made. Gives [(name, steps, untrue)]."""
        self.found = []
        for number in numbers:
            if self.options.first and self.found:
                break
            if self.stack.counts.get("statements", 0) >= many:
                break
            self.overloads(number)
            self.run(steps_of(self.options.seed, number), "session %d" % number)
        self.found += self.stack.settle(True)
        return [(*self.texts_of[session.number], untrue) for session, untrue in self.found]

    def untrue_of(self, steps):
        self.found = []
        self.stack.reset(False)
        session, changed = play(self.stack, steps)
        self.found = self.stack.settle(True)
        if changed:
            self.stack.reset(True)
        return [untrue for _, untrue in self.found]


def kind_of(untrue):
    return re.sub(r"[^a-z ].*", "", untrue[0])


def smaller(worker, steps, untrue):
    """Fewer steps, then shorter statements, of which something of the same kind is untrue."""
    kind = kind_of(untrue)

    def fails(some):
        try:
            return any(kind_of(u) == kind for u in worker.untrue_of(some))
        except (wire.Failed, OSError):
            return False
    head, body = steps[:1], steps[1:]
    size = max(1, len(body) // 2)
    while size:
        at = 0
        while at < len(body):
            less = body[:at] + body[at + size:]
            if fails(head + less):
                body = less
            else:
                at += size
        size //= 2
    if head[0].options and fails([texts.Step("client", TimeZone="UTC")] + body):
        head = [texts.Step("client", TimeZone="UTC")]
    for i, step in enumerate(body):
        if step.kind in ("simple", "extended", "prepare", "pipeline", "direct"):
            body[i] = shorter(step, lambda one: fails(head + body[:i] + [one] + body[i + 1:]))
    return head + body


def shorter(step, fails):
    words = re.findall(r"\s*(?:'(?:[^']|'')*'|\w+|\S)", step.sql)
    size = max(1, len(words) // 2)
    while size:
        at = 0
        while at < len(words):
            less = words[:at] + words[at + size:]
            one = texts.Step(step.kind, "".join(less).strip(), step.name, **step.options)
            if one.sql and fails(one):
                words = less
            else:
                at += size
        size //= 2
    return texts.Step(step.kind, "".join(words).strip(), step.name, **step.options)


def work(options, schema, first, results):
    worker = Worker(options, schema)
    try:
        if options.session is not None:
            numbers, many = [options.session], 1
        else:
            many = options.statements // options.workers
            numbers = (BLOCK * block + i for block in range(first, 10**9, options.workers)
                       for i in range(BLOCK))
        begun = worker.stack.processor()
        failures = worker.sessions(numbers, many)
        counts = dict(worker.stack.counts)
        counts["untrue"] = len(failures)
        for name, seconds in worker.stack.processor().items():
            counts["milliseconds " + name] = int(1000 * (seconds - begun[name]))
        counts["states"], counts["states beside"] = worker.stack.tap.dumps, worker.stack.tap.dumps_committed
        counts["conditions asked"] = worker.stack.judge.conditions
        for text in worker.stack.tap.questions_failed[:3]:
            print("# a question failed: %s" % text)
        if worker.stack.tap.questions_failed:
            counts["questions failed"] = len(worker.stack.tap.questions_failed)
        said, kinds = [], {}
        for name, steps, untrue in failures:
            kinds.setdefault(kind_of(untrue), []).append((name, steps, untrue))
        for i in range(options.shrink):
            for kind, all_ in kinds.items():
                if i < len(all_):
                    name, steps, untrue = all_[i * max(1, len(all_) // options.shrink) % len(all_)]
                    worker.overloads(int(name.split()[1]))
                    said.append((name, untrue[0], texts.write(smaller(worker, steps, untrue))))
        listed = [(name, untrue[0], untrue[1], untrue[2] and untrue[2].texts) for name, _,
                  untrue in failures]
        results.put((counts, listed, said))
    except BaseException:
        results.put(traceback.format_exc())
    finally:
        worker.stack.stop(options.shapes)


def report(counts, listed, said, options, seconds):
    for name, what, op, ran in listed[:options.show]:
        print("# %s: %s\n#     %s\n#     in %s" % (name, what, str(op)[:300], str(ran)[:400]))
    for name, what, text in said:
        print("# %s, made smaller: %s" % (name, what))
        print("".join("#    %s\n" % line for line in text.rstrip("\n").split("\n")), end="")
    print("# " + ", ".join("%s %d" % item for item in sorted(counts.items())
                           if not item[0].startswith(("failed ", "of "))))
    print("# operations by table: " + ", ".join("%s %d" % (name[3:], count) for name, count in sorted(counts.items())
                                                if name.startswith("of ")))
    spent = sum(count for name, count in counts.items() if name.startswith("milliseconds"))
    print("# %d statements in %.1f s, %.0f in a second of one processor" %
          (counts.get("statements", 0), seconds, 1000 * counts.get("statements", 0) / max(spent,
              1)))


def run_random(options):
    schema = read_schema()
    print("# seed %d" % options.seed, flush=True)
    started, results = time.monotonic(), multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(options, schema, i, results))
               for i in range(options.workers)]
    for one in workers:
        one.start()
    counts, listed, said = {}, [], []
    for _ in workers:
        came = results.get()
        if isinstance(came, str):
            print("# a worker failed:\n%s" % came)
            counts["workers failed"] = 1
            continue
        more, some, cases = came
        for name, count in more.items():
            counts[name] = counts.get(name, 0) + count
        listed, said = listed + some, said + cases
    for one in workers:
        one.join()
    report(counts, listed, said, options, time.monotonic() - started)
    good = not counts.get("untrue") and "workers failed" not in counts and counts.get("operations",
        0) > counts.get("statements", 0) // 20
    print("%s 1 - nothing is untrue of %d operations by %d statements at random" %
          ("ok" if good else "not ok", counts.get("operations", 0), counts.get("statements", 0)))
    print("1..1")
    return 0 if good else 1


def in_order(names):
    """[(name, text)]: those that change tables come last, since what a proxy knows of tables is then older."""
    cases = []
    for name in names:
        with open(name, encoding="utf-8") as f:
            cases.append((os.path.basename(name), f.read()))
    return sorted(cases, key=lambda case: ("@ direct" in case[1], case[0]))


def run_case(stack, text, changed):
    """What is untrue, how many operations were recorded, and whether tables were changed."""
    stack.reset(changed)
    stack.counts, steps = {}, texts.read(text)
    _, changed = play(stack, steps, renews=changed or steps[0].kind == "direct")
    untrue = [one for _, one in stack.settle(True)]
    return untrue, stack.counts.get("operations", 0), changed


def run_cases(options):
    """The first line says whether something has to be recorded: `# recorded: ...`; and whether a statement fails: `# fails once: ...`."""
    stack, failed, changed = Stack(options.proxy, read_schema()), 0, False
    try:
        stack.reset(False)
        for number, (name, text) in enumerate(in_order(options.files), 1):
            untrue, operations, changed = run_case(stack, text, changed)
            failures = stack.counts.get("failed", 0)
            good = not untrue and (operations or not text.startswith("# recorded")) and failures == text.startswith("# fails once")
            failed += not good
            print("%sok %d - %s: %d operations are recorded, %d untrue, %d statements failed" %
                  ("" if good else "not ", number, name, operations, len(untrue), failures), flush=True)
            for one in untrue[:3]:
                print("# %s: %s" % (one[0], one[1]))
    finally:
        stack.stop(options.shapes)
    print("1..%d" % len(options.files))
    return 1 if failed else 0


def run_app(options):
    schema = ""
    if options.schema:
        with open(options.schema, encoding="utf-8") as f:
            schema = f.read()
    started, stack, found = time.monotonic(), Stack(options.proxy, schema), []
    stack.tap.dynamic = not options.schema  # by several sessions at once
    try:
        env = {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(stack.proxy_port),
               "PGUSER": "postgres",
               "PGDATABASE": "postgres", "PGSSLMODE": "disable", "DIRECT_PORT": str(stack.port),
               "PGOPTIONS": "-c default_transaction_isolation=repeatable\\ read"}
        child = subprocess.Popen(options.files, env=env)
        looked = ended = time.monotonic()
        while child.poll() is None or (stack.tap.by_fd and time.monotonic() - ended < 3):
            ended = time.monotonic() if child.poll() is None else ended
            stack.tap.turn(0.1)
            for session in stack.tap.sessions[:]:
                if session.ended:
                    over_at_last(stack, session)
            if time.monotonic() - looked > 5:
                found, looked = found + stack.settle(), time.monotonic()
        for session in stack.tap.sessions[:]:
            over_at_last(stack, session)
        found += stack.settle(True)
        stack.counts["untrue"] = len(found)
        if stack.tap.questions_failed:
            stack.counts["questions failed"] = len(stack.tap.questions_failed)
            print("# a question failed: " + stack.tap.questions_failed[0])
        listed = [("session %d" % session.number, one[0], one[1], one[2] and one[2].texts)
                  for session, one in found]
        report(stack.counts, listed, [], options, time.monotonic() - started)
    finally:
        stack.stop(options.shapes)
    print("%s 1 - nothing is untrue of %d operations by %d statements of %s" % (
        "not ok" if found else "ok", stack.counts.get("operations", 0),
            stack.counts.get("statements", 0), options.files[0]))
    print("1..1")
    return 1 if found else 0


def over_at_last(stack, session):
    """Sessions are numbered as they come, as the proxy does it."""
    stack.tap.sessions.remove(session)
    session.ended_at = time.monotonic()
    stack.count("statements", sum(len(b.texts) for t in session.transactions for b in t.batches))
    stack.count("failed", sum(bool(b.errors) for t in session.transactions for b in t.batches))
    stack.pending.append(session)


def read_schema():
    with open(os.path.join(HERE, "schema.sql"), encoding="utf-8") as f:
        return f.read()


def main():
    here = os.path.join(HERE, "..", "..", "..", os.environ.get("BUILD", "build"), "isochron-proxy")
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["random", "case", "app"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or 1))
    parser.add_argument("--statements", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shrink", type=int, default=0)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--session", type=int)
    parser.add_argument("--first", action="store_true", help="end behind the first that is untrue")
    parser.add_argument("--schema",
                        help="SQL that makes the tables before an app starts; it makes none itself")
    parser.add_argument("--shapes", help="a file for what the proxy says of each shape")
    parser.add_argument("--proxy", default=os.environ.get("ISOCHRON_PROXY", here))
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:at])
    options.files += words[at + 1:]
    if options.session is not None:
        options.workers = 1
    return {"random": run_random, "case": run_cases, "app": run_app}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
