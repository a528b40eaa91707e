#!/usr/bin/env python3
"""Mutants: small faults planted in engines, join, pipeline and verify, one at a time, which the tests must find.

    mutants.py [--seed S] [--count N] [--jobs N] [--seconds N] [--work DIR] [--modules NAME,...] [--only FILE:LINE] [--least PERCENT]

Each mutant is one fault of one place: a relation, an arithmetic or logical operator, a constant off by one, a negated condition, a
deleted statement (but for what gives memory back: that is the address sanitizer's), two arguments swapped. It is built in a copy of the tree, where only what it touches is compiled again; the tests of
the touched module run first, then the others of `make check`, until one fails, and no longer than --seconds. What does not compile, and
what compiles to the same code, is no mutant. equivalent.tsv, beside this file, has those of which an argument says that they change
nothing: at most a tenth may be such.

Prints TAP; survivors as diagnostics, also in DIR/survivors.txt with what was changed. Needs nothing but make and python3.
"""
import argparse
import concurrent.futures
import hashlib
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
EQUIVALENT = os.path.join(HERE, "equivalent.tsv")
MODULES = ["aion", "chronos", "polygraph", "join", "pipeline", "verify"]
# What tests beyond the unit tests of its own name say most about a module.
NEAR = {
    "aion": ["unit/pipeline", "unit/judge", "property/aion_", "system/attach", "system/corpus/test_captures"],
    "chronos": ["property/chronos_oracle", "property/aion_chronos", "system/corpus/test_timestamped"],
    "polygraph": ["unit/verify", "property/polygraph_", "property/evidence_damage", "system/corpus"],
    "join": ["unit/debezium", "unit/ticdc", "unit/dgraph", "unit/yugabyte", "unit/pipeline", "property/join_feeds", "system/attach"],
    "pipeline": ["unit/join", "unit/run", "property/join_feeds", "property/random_poison", "system/attach", "cli"],
    "verify": ["unit/polygraph", "property/evidence_damage", "property/polygraph_", "system/corpus"],
}
# Arguments that C would not take are no mutants; unused ones are.
MAKE = ["make", "-s", "BUILD=build", "OPTIMISE=-O1", "SYMBOLS=", "WERROR=-Werror=int-conversion -Werror=incompatible-pointer-types"]


# ---- where a fault can be planted ----

def masked(text):
    """The text with blanks for what no fault is planted in: comments, strings, preprocessor lines; assertions and validations, which are
    tests themselves; enumerated constants, which are sizes and thresholds of which one is as good as its neighbour."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    text = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", blank, text, flags=re.S)
    text = re.sub(r"^#ifdef ISO_VALIDATE$.*?^#(?:else|endif)", blank, text, flags=re.S | re.M)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)
    text = re.sub(r"\benum \w*\s*\{[^}]*\}", blank, text)
    return re.sub(r"\b(?:static_)?assert\([^;]*;", blank, text)


SWAPS = {"<": ["<=", ">"], "<=": ["<"], ">": [">=", "<"], ">=": [">"], "==": ["!="], "!=": ["=="]}
OPERATORS = {"+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "%": ["/"], "&": ["|"], "|": ["&"], "^": ["|"], "<<": [">>"], ">>": ["<<"],
             "&&": ["||"], "||": ["&&"], "+=": ["-="], "-=": ["+="], "|=": ["&="], "&=": ["|="]}


def closing(text, at):
    """Where the parenthesis that opens at `at` is closed."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return i
    return None


def relations(text):
    for match in re.finditer(r" (<=|>=|==|!=|<|>) ", text):
        for other in SWAPS[match.group(1)]:
            yield match.start(1), match.end(1), other


def operators(text):
    for match in re.finditer(r" (\+|-|\*|/|%|&|\||\^|<<|>>|&&|\|\||\+=|-=|\|=|&=) ", text):
        for other in OPERATORS[match.group(1)]:
            yield match.start(1), match.end(1), other


def constants(text):
    for match in re.finditer(r"(?<![\w.])(\d+)(?![\w.])", text):
        number = int(match.group(1))
        yield match.start(1), match.end(1), str(number + 1)
        if number > 1:
            yield match.start(1), match.end(1), str(number - 1)


def conditions(text):
    for match in re.finditer(r"\b(?:if|while) (\()", text):
        end = closing(text, match.start(1))
        if end:
            yield match.start(1), end + 1, "(!{})"


def statements(text):
    begun = re.compile(r"(?<=[;{}:])\s*\n[ ]+(?!return|case|default|goto|else|if|for|while|do|switch|static|const|struct|enum|union)"
                       r"([a-z_*(][^;{}]*;)", re.S)
    for match in begun.finditer(text):
        line = match.group(1)
        call = re.match(r"[a-z_]\w*\(", line)
        assigned = re.match(r"\(?\*?[a-z_]\w*(?:->|\.|\[[^\]]*\]|\w)*\)? (?:=|\+=|-=|\|=|&=|<<=|>>=) ", line)
        step = re.match(r"[\w.\->\[\]]+(?:\+\+|--);|(?:break|continue);", line)
        if (call and not re.match(r"\w*(?:free|release)\w*\(", line)) or assigned or step:
            yield match.start(1), match.end(1), ";" + "\n" * line.count("\n")


def arguments(text):
    for match in re.finditer(r"\b[a-z_]\w*\((?:[^(),;{}]*, )*?(&?[\w.\->]+), (&?[\w.\->]+)\)", text):
        first, second = match.group(1), match.group(2)
        if first != second and not re.match(r"\d", first + second):
            yield match.start(1), match.end(2), second + ", " + first


KINDS = {"relation": relations, "operator": operators, "constant": constants, "condition": conditions, "statement": statements,
         "arguments": arguments}


class Mutant:
    def __init__(self, path, text, kind, begin, end, new):
        self.path, self.kind, self.begin, self.end, self.new = path, kind, begin, end, new
        self.module = path.split("/")[1]
        self.line = text.count("\n", 0, begin) + 1
        mutated = self.planted(text)
        first = text.rfind("\n", 0, begin) + 1
        last = text.find("\n", end)
        shift = len(mutated) - len(text)
        self.old_line = " ".join(text[first:last].split())
        self.new_line = " ".join(mutated[first:last + shift].split())
        self.outcome, self.by, self.seconds = None, "", 0

    def planted(self, text):
        return text[:self.begin] + self.new.replace("{}", text[self.begin:self.end]) + text[self.end:]

    def name(self):
        return f"{self.path}:{self.line} {self.kind}: {self.old_line}  ->  {self.new_line}"

    def key(self):
        return self.path, self.old_line, self.new_line


def all_mutants(modules):
    by_kind = {kind: [] for kind in KINDS}
    for module in modules:
        folder = os.path.join(ROOT, "src", module)
        for directory, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                if not name.endswith(".c"):
                    continue
                path = os.path.relpath(os.path.join(directory, name), ROOT)
                text = open(os.path.join(ROOT, path)).read()
                hidden = masked(text)
                if "validate" in name:
                    continue
                for kind, find in KINDS.items():
                    for begin, end, new in find(hidden):
                        by_kind[kind].append(Mutant(path, text, kind, begin, end, new))
    return by_kind


def drawn(by_kind, seed):
    """Mutants without end, of all kinds alike, none twice."""
    dice = random.Random(seed)
    for mutants in by_kind.values():
        dice.shuffle(mutants)
    while any(by_kind.values()):
        for kind in sorted(by_kind):
            if by_kind[kind]:
                yield by_kind[kind].pop()


def read_equivalent():
    known = {}
    for number, line in enumerate(open(EQUIVALENT), 1):
        if line.startswith("#") or not line.strip():
            continue
        cells = line.rstrip("\n").split("\t")
        if len(cells) != 4 or not all(cells):
            sys.exit(f"{EQUIVALENT}:{number}: expected FILE, LINE, CHANGED LINE, ARGUMENT")
        known[tuple(cells[:3])] = cells[3]
    return known


# ---- one tree, in which mutants are built and tried ----

def run(command, folder, seconds, environment=None):
    """Exit status, output; status None if it took longer."""
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=max(1, seconds))
        return process.returncode, output.decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""


# Seconds of each test without a fault, as far as it is known; None of one that fails all the same, and is left out.
usual = {}


class Tree:
    def __init__(self, folder):
        self.folder = folder
        self.environment = dict(os.environ, BUILD="build", ISOCHRON=os.path.join(folder, "build/isochron"), EFFORT="short")
        for name in ("MAKEFLAGS", "MAKELEVEL", "SEED"):
            self.environment.pop(name, None)
        os.makedirs(folder, exist_ok=True)
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
        files = {path for path in listed if path and os.path.exists(os.path.join(ROOT, path))}
        for directory, folders, names in os.walk(folder):
            if directory == folder and "build" in folders:
                folders.remove("build")
            for name in names:
                path = os.path.join(directory, name)
                if os.path.relpath(path, folder) not in files:
                    os.remove(path)
        for path in sorted(files):
            source, target = os.path.join(ROOT, path), os.path.join(folder, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if not os.path.exists(target) or open(source, "rb").read() != open(target, "rb").read():
                shutil.copy(source, target)

    def make(self, targets, seconds=3600):
        return run(MAKE + targets, self.folder, seconds, self.environment)

    def tests(self, module):
        """Commands, the touched module's first, and what each needs built."""
        listed = subprocess.run(["tests/select.sh", "release", "check", "short"], cwd=self.folder, env=self.environment,
                                capture_output=True, check=True).stdout.decode().splitlines()
        chosen = [line.split()[1:] for line in listed]
        near = ["unit/" + module + "/"] + NEAR[module]

        def rank(words):
            name = "unit/" + words[-1] if words[0] == "build/unit" else words[0].removeprefix("build/tests/").removeprefix("tests/")
            for i, prefix in enumerate(near):
                if name.startswith(prefix):
                    return i
            for i, prefix in enumerate(["unit/", "property/", "system/corpus", "system/attach", "cli/"]):
                if name.startswith(prefix):
                    return 100 + i
            return None

        ranked = [(rank(words), words) for words in chosen]
        return [words for place, words in sorted((pair for pair in ranked if pair[0] is not None), key=lambda pair: pair[0])]

    def build(self, words):
        """What a test needs: it compiled before, and what fails now is not the mutant's fault."""
        target = [words[0]] if words[0].startswith("build/") else ["build/isochron", "build/embedded-broker"]
        status, output = self.make(target)
        if status != 0:
            raise RuntimeError(f"{self.folder}: {' '.join(target)} is not built:\n{output[-2000:]}")

    def try_one(self, words, seconds):
        started = time.monotonic()
        status, output = run(words, self.folder, seconds, self.environment)
        took = time.monotonic() - started
        bad = status != 0 or re.search(r"^not ok", output, re.M)
        return status, bool(bad), took

    def objects(self, path):
        name = path.removesuffix(".c") + ".o"
        found = [os.path.join(self.folder, "build", kind, name) for kind in ("obj", "obj-validating")]
        return [hashlib.sha256(open(object, "rb").read()).hexdigest() if os.path.exists(object) else None for object in found[:1]]

    def judge(self, mutant, seconds):
        """Sets the mutant's outcome: caught, survived, same, refused."""
        path = os.path.join(self.folder, mutant.path)
        text = open(path).read()
        target = "build/obj/" + mutant.path.removesuffix(".c") + ".o"
        self.make([target])
        before = self.objects(mutant.path)
        while mutant.outcome is None:
            open(path, "w").write(mutant.planted(text))
            status, _ = self.make([target], 120)
            if status != 0:
                mutant.outcome = "refused"
            elif self.objects(mutant.path) == before:
                mutant.outcome = "same"
            else:
                suspect = self.run_tests(mutant, seconds)
            open(path, "w").write(text)
            if mutant.outcome is None:
                self.learn(suspect)

    def learn(self, words):
        """Whether a test that failed does so without the fault, too."""
        self.build(words)
        _, bad, took = self.try_one(words, 300)
        usual[tuple(words)] = None if bad else took
        if bad:
            print(f"# fails without any fault, and is left out: {' '.join(words)}", flush=True)

    def run_tests(self, mutant, seconds):
        """Sets the outcome; or returns a test that failed and is not known to succeed without the fault."""
        started, spent = time.monotonic(), 0
        for words in self.tests(mutant.module):
            known = usual.get(tuple(words), 5)
            if known is None:
                continue
            self.build(words)
            status, bad, took = self.try_one(words, min(10 * known + 10, seconds - spent + 1))
            spent += took
            if bad and not (status is None and spent >= seconds):
                if tuple(words) not in usual:
                    return words
                mutant.outcome, mutant.by = "caught", " ".join(words) + (" (it hangs)" if status is None else "")
                break
            if not bad:
                usual.setdefault(tuple(words), took)
            if spent >= seconds:
                mutant.by = f"after {seconds} s, not all tests ran"
                break
        mutant.outcome = mutant.outcome or "survived"
        mutant.seconds = time.monotonic() - started
        return None


# ---- all ----

def survey(arguments):
    equivalent = read_equivalent()
    by_kind = all_mutants(arguments.modules)
    if arguments.only:
        for kind in by_kind:
            by_kind[kind] = [mutant for mutant in by_kind[kind] if f"{mutant.path}:{mutant.line}" == arguments.only]
    source = drawn(by_kind, arguments.seed)
    free = queue.Queue()
    os.makedirs(arguments.work, exist_ok=True)
    shared = os.path.join(arguments.work, "shared")
    if os.path.isdir(os.path.join(ROOT, "../shared")) and not os.path.exists(shared):
        os.symlink(os.path.realpath(os.path.join(ROOT, "../shared")), shared)
    for i in range(arguments.jobs):
        free.put(Tree(os.path.join(arguments.work, f"tree{i}")))
    judged, argued, no_mutants = [], [], {"refused": 0, "same": 0}

    def work(mutant):
        tree = free.get()
        try:
            tree.judge(mutant, arguments.seconds)
        finally:
            free.put(tree)
        return mutant

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        running, exhausted = set(), False
        while True:
            while not exhausted and len(running) < arguments.jobs and len(judged) + len(argued) + len(running) < arguments.count:
                mutant = next(source, None)
                if mutant is None:
                    exhausted = True
                elif mutant.key() in equivalent:
                    argued.append(mutant)
                else:
                    running.add(pool.submit(work, mutant))
            if not running:
                break
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                mutant = future.result()
                if mutant.outcome in no_mutants:
                    no_mutants[mutant.outcome] += 1
                    continue
                judged.append(mutant)
                print(f"# {len(judged)} {mutant.outcome} {mutant.seconds:.0f} s {mutant.by}: {mutant.name()}", flush=True)
    return judged, argued, no_mutants


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or int.from_bytes(os.urandom(4), "big")))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--least", type=float, default=95)
    parser.add_argument("--work", default=os.path.join(ROOT, "build-mutants"))
    parser.add_argument("--modules", type=lambda text: text.split(","), default=MODULES)
    parser.add_argument("--only", help="FILE:LINE: all faults of that line")
    arguments = parser.parse_args()
    print(f"# mutants: --seed {arguments.seed} --count {arguments.count} --seconds {arguments.seconds}", flush=True)
    judged, argued, no_mutants = survey(arguments)
    survivors = [mutant for mutant in judged if mutant.outcome == "survived"]
    with open(os.path.join(arguments.work, "survivors.txt"), "w") as file:
        for mutant in survivors:
            file.write("\t".join(mutant.key()) + "\n")
    for module in arguments.modules:
        of = [mutant for mutant in judged if mutant.module == module]
        print(f"# {module}: {sum(mutant.outcome == 'caught' for mutant in of)} of {len(of)} caught")
    caught = len(judged) - len(survivors)
    percent = 100 * caught / len(judged) if judged else 0
    print(f"# did not compile: {no_mutants['refused']}; compiled to the same code: {no_mutants['same']}; argued to change nothing: {len(argued)}")
    for mutant in survivors:
        print(f"# survived: {mutant.name()}")
    print(f"{'ok' if percent >= arguments.least else 'not ok'} 1 - {caught} of {len(judged)} mutants are caught: {percent:.1f} of 100, "
          f"at least {arguments.least:g}")
    few = 10 * len(argued) <= len(judged) + len(argued)
    print(f"{'ok' if few else 'not ok'} 2 - at most a tenth are argued to change nothing\n1..2")
    sys.exit(percent < arguments.least or not few)


main()
