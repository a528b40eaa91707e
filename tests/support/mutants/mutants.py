#!/usr/bin/env python3
"""Mutants: small faults planted in engines, join, pipeline and verify, one at a time, which the tests must find.

    mutants.py [--seed S] [--count N] [--jobs N] [--seconds N] [--work DIR] [--modules NAME,...] [--only FILE[:LINE]] [--least PERCENT]

Each mutant is one fault of one place: a relation, an arithmetic or logical operator, a constant off by one, a negated condition, a
deleted statement, two arguments swapped. What does not compile, and
what compiles to the same code, is no mutant. equivalent.tsv, beside this file, has those of which an argument says that they change
nothing: at most a tenth may be such.

All mutants are in one build of a copy of the tree: the function of each stands there twice, and the environment (MUTANT=N) says which
of the two is called. So a mutant costs only the tests that it takes to catch it. Each test runs once without a fault first: it says how
long it takes and which of the mutated functions it calls. A mutant then meets the tests that call its function, those first that
catch much in little time, until one fails: cheap tests, the same ones with sanitizers and validations, then dear ones. What no test calls
survives.

Modules have equal shares, and so have the kinds of faults of a module. Who is drawn depends on the seed and the changed line only, so
that a seed's mutants remain where their lines do.

Prints TAP; survivors as diagnostics, also in DIR/survivors.tsv with what was changed. Needs nothing but make and python3.
"""
import argparse
import concurrent.futures
import glob
import hashlib
import itertools
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
EQUIVALENT = os.path.join(HERE, "equivalent.tsv")
MODULES = ["aion", "chronos", "polygraph", "join", "pipeline", "verify"]
# Tests that take part, of those of `make check`.
TAKING_PART = re.compile(r"build[^/]*/unit$|build[^/]*/tests/property/|tests/system/(?:corpus|attach|durable)/|tests/cli/")
FEW = 60
# Flavours of the build, as in the Makefile: what each is made with.
MAKE = {"release": ["make", "-s", "BUILD=build"],
        "asan": ["make", "-s", "BUILD=build-asan", "SANITIZE=address,undefined"]}
# Arguments that C would not take are no mutants; unused ones are.
STRICT = "WERROR=-Werror=int-conversion -Werror=incompatible-pointer-types"


# ---- where a fault can be planted ----

def masked(text):
    """The text with blanks for what no fault is planted in: comments, strings, preprocessor lines; assertions and validations, which are
    tests themselves; enumerated constants and the sizes of texts, which are sizes and thresholds of which one is as good as its neighbour; hints; what asks for memory
    or gives it back, which is the address sanitizer's."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    text = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", blank, text, flags=re.S)
    text = re.sub(r"^#ifdef ISO_VALIDATE$.*?^#(?:else|endif)", blank, text, flags=re.S | re.M)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)
    text = re.sub(r"__attribute__\(\(.*?\)\)", blank, text)
    text = re.sub(r"\benum \w*\s*\{[^}]*\}", blank, text)
    text = re.sub(r"^ +char \w+\[\w+\][^;\n]*;", blank, text, flags=re.M)
    # Of what is compared only the sign matters; what is fetched into the cache, or expected of a branch, is only sooner there.
    text = re.sub(r"\? -1 : 1\b|^ +\w*fetch\w*\([^;{]*;", blank, text, flags=re.M)
    text = re.sub(r"(__builtin_expect\([^;{]*?), [01]\)", lambda match: match.group(1) + "    ", text)
    text = re.sub(r"\biso_\w*(?:allocate|free|grow)\w*\([^;]*;|\bISO_GROW\([^;]*;|^[^\n;]*\bcapacity = [^;]*;", blank, text, flags=re.M)
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


# `a != b ? a < b : ...`: where they differ, < and <= are the same.
UNEQUAL = re.compile(r"(\S+) != (\S+) \? \1 ([<>]) \2(?=[\s;)])")


def relations(text):
    unequal = {match.start(3) for match in UNEQUAL.finditer(text)}
    for match in re.finditer(r" (<=|>=|==|!=|<|>) ", text):
        for other in SWAPS[match.group(1)]:
            if match.start(1) not in unequal or other[0] != match.group(1):
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


# A function's definition: how it begins, its name, its parameters. clang-format makes them all look like that.
FUNCTION = re.compile(r"^((?:[a-z][\w ]*[ *])(\w+)\(([^;{}]*?)\))\n\{$(.*?)^\}$", re.S | re.M)


class Function:
    def __init__(self, match):
        self.begin, self.end = match.start(), match.end()
        self.body = match.start(4)
        self.head, self.name = match.group(1), match.group(2)
        self.names = [re.search(r"\(\*(?:const )?(\w+)\)|(\w+)(?:\[[^\]]*\])*$", part.strip()) for part in self.split(match.group(3))]
        self.names = [match and (match.group(1) or match.group(2)) for match in self.names]
        before = self.head[:self.head.index(self.name + "(")]
        self.type = re.sub(r"\b(?:static|inline)\s+", "", before)
        # What takes any number of arguments cannot hand them on.
        self.whole = "..." not in match.group(3) and all(self.names)

    @staticmethod
    def split(parameters):
        if parameters.strip() in ("", "void"):
            return []
        parts, depth = [""], 0
        for letter in parameters:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if letter == "," and not depth:
                parts.append("")
            else:
                parts[-1] += letter
        return parts

    def copy(self, text, mutant):
        """The function with a mutant's fault, under a name of its own."""
        name = f"{self.name}__mutant{mutant.number}"
        mutated = mutant.planted(text)
        body = mutated[self.body:self.end + len(mutated) - len(text)]
        head = f"static {self.type}{name}({self.head[self.head.index(self.name + '(') + len(self.name) + 1:]}"
        return f"{self.head};\n{head}\n{{{body}\n"

    def switch(self, mutant):
        call = f"{self.name}__mutant{mutant.number}({', '.join(self.names)})"
        return f"if (MUTANT_IS({mutant.number})) " + (f"{{ {call}; return; }}" if self.type.strip() == "void" else f"return {call};")


class Mutant:
    def __init__(self, path, text, function, kind, begin, end, new):
        self.path, self.function, self.kind, self.begin, self.end, self.new = path, function, kind, begin, end, new
        self.module = path.split("/")[2]  # src/FLOOR/MODULE/...
        self.line = text.count("\n", 0, begin) + 1
        mutated = self.planted(text)
        first = text.rfind("\n", 0, begin) + 1
        last = text.find("\n", end)
        shift = len(mutated) - len(text)
        self.old_line = " ".join(text[first:last].split())
        self.new_line = " ".join(mutated[first:last + shift].split())
        self.outcome, self.by, self.seconds, self.number, self.is_called = None, "", 0, None, False

    def planted(self, text):
        return text[:self.begin] + self.new.replace("{}", text[self.begin:self.end]) + text[self.end:]

    def name(self):
        return f"{self.path}:{self.line} {self.kind}: {self.old_line}  ->  {self.new_line}"

    def key(self):
        return self.path, self.old_line, self.new_line


def mutants_of(path):
    text = open(os.path.join(ROOT, path)).read()
    hidden = masked(text)
    functions = [Function(match) for match in FUNCTION.finditer(hidden)]
    for kind, find in KINDS.items():
        for begin, end, new in find(hidden):
            for function in functions:
                if function.whole and function.body <= begin and end <= function.end:
                    yield Mutant(path, text, function, kind, begin, end, new)


def all_mutants(modules):
    """By module and kind. What is outside of functions, a table's cell, cannot be chosen when the program runs."""
    found = {(module, kind): [] for module in modules for kind in KINDS}
    for module in modules:
        for directory, _, names in sorted(os.walk(*glob.glob(os.path.join(ROOT, "src", "*", module)))):
            for name in sorted(names):
                if name.endswith(".c") and "validate" not in name:
                    for mutant in mutants_of(os.path.relpath(os.path.join(directory, name), ROOT)):
                        found[module, mutant.kind].append(mutant)
    return found


def drawn(found, seed):
    """Mutants without end, of all modules and kinds alike, none twice."""
    for stratum in found.values():
        again = {}
        ranked = []
        for mutant in stratum:
            again[mutant.key()] = again.get(mutant.key(), 0) + 1
            words = f"{seed} {' '.join(mutant.key())} {mutant.kind} {mutant.function.name} {again[mutant.key()]}"
            ranked.append((hashlib.sha256(words.encode()).digest(), mutant))
        stratum[:] = [mutant for _, mutant in sorted(ranked, key=lambda pair: pair[0], reverse=True)]
    modules = sorted({module for module, _ in found})
    while any(found.values()):
        for kind, module in itertools.product(sorted(KINDS), modules):
            if found[module, kind]:
                yield found[module, kind].pop()


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


# ---- programs ----

def limits(addresses):
    """What runs wild must not take the machine with it."""
    resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, folder, seconds, environment=None, limit=None):
    """Exit status, output; status None if it took longer. `limit`: of addresses, in bytes."""
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=limit and (lambda: limits(limit)))
    try:
        output, _ = process.communicate(timeout=max(1, seconds))
        return process.returncode, output.decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""


class Test:
    """A command; how long it takes without a fault, what it calls then, and how it has done so far."""

    def __init__(self, words):
        self.words, self.seconds, self.called = words, 0, b""
        self.tried, self.caught = {}, {}
        name = words[-1] if os.path.basename(words[0]) == "unit" else os.path.basename(words[0])
        self.subject = re.split(r"[/_]", name)[0]

    def promise(self, mutant):
        """Expected catches a second: what it did for the module so far, and at first whether it has the module's name."""
        guess = 0.5 if self.subject == mutant.module else 0.1
        return (self.caught.get(mutant.module, 0) + guess) / (self.tried.get(mutant.module, 0) + 1) / (self.seconds + 0.02)

    def count(self, mutant, caught):
        self.tried[mutant.module] = self.tried.get(mutant.module, 0) + 1
        self.caught[mutant.module] = self.caught.get(mutant.module, 0) + caught


SELECTOR = """/* Which mutant is alive, and which mutated functions were called. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
int iso_mutant;
static unsigned char own[%d];
unsigned char *iso_mutants_called = own;
__attribute__((constructor)) static void choose_mutant(void)
{
    const char *number = getenv("MUTANT"), *called = getenv("MUTANTS_CALLED");
    int file = called ? open(called, O_RDWR) : -1;
    void *shared = file >= 0 ? mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    iso_mutant = number ? atoi(number) : 0;
    if (shared != MAP_FAILED)
        iso_mutants_called = shared;
}
"""
DECLARED = ("extern int iso_mutant; extern unsigned char *iso_mutants_called;\n"
            "#define MUTANT_IS(n) (iso_mutants_called[n] = 1, __builtin_expect(iso_mutant == n, 0))\n")
# A line marker: what follows is as a system's header, which is warned of nowhere. Where a mutant is inlined, the compiler warns all the
# same of what it finds out by following values. All else is built with the flags of every build, so that a compiler's cache has it.
FLOWS = ["array-bounds", "dangling-pointer", "format-truncation", "infinite-recursion", "maybe-uninitialized", "nonnull", "restrict",
         "stringop-overflow", "stringop-overread", "uninitialized", "use-after-free"]
QUIET = "".join(f'#pragma GCC diagnostic ignored "-W{flow}"\n' for flow in FLOWS) + '# 1 "%s" 3\n'


class Tree:
    """A copy of the sources with all mutants in it."""

    def __init__(self, work, jobs):
        self.work, self.folder, self.jobs, self.flavour = work, os.path.join(work, "tree"), jobs, "release"
        self.environment = dict(os.environ, BUILD="build", ISOCHRON=os.path.join(self.folder, "build/isochron"), EFFORT="short",
                                ISOCHRON_HASH_SEED="1", ASAN_OPTIONS="detect_leaks=1")
        for name in ("MAKEFLAGS", "MAKELEVEL", "SEED", "MUTANT", "MUTANTS_CALLED"):
            self.environment.pop(name, None)
        os.makedirs(self.folder, exist_ok=True)
        shared = os.path.join(work, "shared")
        if os.path.isdir(os.path.join(ROOT, "../shared")) and not os.path.exists(shared):
            os.symlink(os.path.realpath(os.path.join(ROOT, "../shared")), shared)

    def write(self, path, text):
        """As it stands there already, if it does: what did not change is not compiled again."""
        target = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target) or open(target, "rb").read() != text:
            open(target, "wb").write(text)

    def plant(self, mutants):
        """Sources with all mutants in them, each of which waits to be chosen."""
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
        files = {path for path in listed if path and os.path.exists(os.path.join(ROOT, path))}
        selector = "src/foundation/base/mutants_selector.c"
        for directory, folders, names in os.walk(self.folder):
            if directory == self.folder:
                folders[:] = [name for name in folders if not name.startswith("build")]
            for name in names:
                path = os.path.join(directory, name)
                if os.path.relpath(path, self.folder) not in files | {selector}:
                    os.remove(path)
        planted = {}
        for mutant in mutants:
            planted.setdefault(mutant.path, []).append(mutant)
        for path in sorted(files):
            source = os.path.join(ROOT, path)
            text = open(source, "rb").read()
            self.write(path, with_mutants(path, text.decode(), planted[path]).encode() if path in planted else text)
            shutil.copymode(source, os.path.join(self.folder, path))
        self.write(selector, (SELECTOR % (len(mutants) + 1)).encode())

    def set_flavour(self, flavour):
        self.flavour = flavour
        self.environment["BUILD"] = MAKE[flavour][2].removeprefix("BUILD=")

    def tests(self):
        listed = subprocess.run(["tests/select.sh", self.flavour, "check", "short"], cwd=self.folder, env=self.environment,
                                capture_output=True, check=True).stdout.decode().splitlines()
        commands = [words for words in (line.split()[1:] for line in listed) if TAKING_PART.match(words[0])]
        cheap = [Test(words) for words in commands if os.path.basename(words[0]) == "unit"]
        dear = [Test(words) for words in commands if os.path.basename(words[0]) != "unit"]
        # Of random histories the first tenth finds most; of few, some tests say that they saw too little.
        for words in commands:
            if len(words) > 2 and words[1].startswith("--") and words[2].isdigit() and int(words[2]) >= FEW:
                cheap.append(Test([words[0], words[1], str(max(FEW, int(words[2]) // 10))] + words[3:]))
        return cheap, dear

    def build(self, tests):
        targets = {test.words[0] for test in tests if test.words[0].startswith("build")}
        if self.flavour == "release":
            targets |= {"build/isochron", "build/embedded-broker"}
        status, output = run(MAKE[self.flavour] + [f"-j{self.jobs}"] + sorted(targets), self.folder, 3600, self.environment)
        if status != 0:
            sys.exit(f"{self.folder} is not built:\n{output[-4000:]}")

    def try_test(self, test, seconds, **environment):
        """Whether it passes, whether it hangs, seconds."""
        started = time.monotonic()
        # The address sanitizer reserves more than there is.
        limit = 8 << 30 if self.flavour == "release" else resource.RLIM_INFINITY
        status, output = run(test.words, self.folder, seconds, dict(self.environment, **environment), limit=limit)
        return status == 0 and not re.search(r"^not ok", output, re.M), status is None, time.monotonic() - started

    def run_once(self, test, count):
        """Without any fault. One that fails says nothing of mutants, and calls none."""
        called = os.path.join(self.work, f"called-{threading.get_ident()}")
        open(called, "wb").write(bytes(count + 1))
        passes, _, test.seconds = self.try_test(test, 300, MUTANTS_CALLED=called)
        test.called = open(called, "rb").read() if passes else bytes(count + 1)
        os.remove(called)
        if not passes:
            print(f"# fails without any fault, and is left out: {' '.join(test.words)}", flush=True)

    def judge(self, mutant, tests, seconds):
        started = time.monotonic()
        left = [test for test in tests if test.called[mutant.number]]
        mutant.outcome, mutant.is_called = "survived", mutant.is_called or bool(left)
        mutant.by = "" if mutant.is_called else "no test calls it"
        while left:
            test = max(left, key=lambda test: test.promise(mutant))
            left.remove(test)
            passes, hangs, _ = self.try_test(test, 5 * test.seconds + 10, MUTANT=str(mutant.number))
            test.count(mutant, not passes)
            if not passes:
                mutant.outcome, mutant.by = "caught", " ".join(test.words) + (" (it hangs)" if hangs else "")
                break
            if time.monotonic() - started > seconds:
                mutant.by = f"after {seconds} s, without {len(left)} of its tests"
                break
        mutant.seconds += time.monotonic() - started
        return mutant


def with_mutants(path, text, mutants):
    functions = {}
    for mutant in mutants:
        functions.setdefault(mutant.function.begin, []).append(mutant)
    for begin in sorted(functions, reverse=True):
        function = functions[begin][0].function
        copies = "".join(function.copy(text, mutant) for mutant in functions[begin])
        switches = "\n".join(function.switch(mutant) for mutant in functions[begin])
        functions[begin] = begin, function.body, copies, switches
    for begin in sorted(functions, reverse=True):
        _, body, copies, switches = functions[begin]
        text = text[:begin] + copies + text[begin:body] + "\n" + switches + text[body:]
    return DECLARED + QUIET % path + text


class Compiler:
    """Says of one mutant at a time whether it compiles, and to other code. What was found out of a text is kept."""

    def __init__(self, work):
        self.folder, self.codes = os.path.join(work, "trial"), {}
        self.known, self.lock = {}, threading.Lock()
        self.log = os.path.join(self.folder, "outcomes")
        os.makedirs(self.folder, exist_ok=True)
        if os.path.exists(self.log):
            self.known = dict(line.split() for line in open(self.log))
        _, flags = run(MAKE["release"] + [STRICT, "--eval", "flags: ; @echo $(CC) $(CFLAGS_ALL)", "flags"], ROOT, 60)
        self.flags = [flag for flag in flags.split() if flag not in ("-g", "-MMD", "-MP")]

    def code(self, path, text):
        """A digest of the object; None if there is none. Same names for both, as assertions carry them."""
        folder = os.path.join(self.folder, f"{threading.get_ident()}")
        os.makedirs(folder, exist_ok=True)
        source = os.path.join(folder, os.path.basename(path))
        open(source, "w").write(text)
        status, _ = run(self.flags + ["-c", source, "-o", source + ".o"], ROOT, 120)
        return hashlib.sha256(open(source + ".o", "rb").read()).digest() if status == 0 else None

    def outcome(self, mutant):
        text = open(os.path.join(ROOT, mutant.path)).read()
        planted = mutant.planted(text)
        digest = hashlib.sha256(f"{mutant.path} {text} {planted}".encode()).hexdigest()
        if digest not in self.known:
            place = mutant.path, threading.get_ident()
            if place not in self.codes:
                self.codes[place] = self.code(mutant.path, text)
            code = self.code(mutant.path, planted)
            with self.lock, open(self.log, "a") as log:
                self.known[digest] = "refused" if code is None else "same" if code == self.codes[place] else "other"
                log.write(f"{digest} {self.known[digest]}\n")
        return self.known[digest]


# ---- all ----

def choose(arguments, pool):
    """Mutants to judge, those argued away, and how many were none."""
    equivalent = read_equivalent()
    found = all_mutants(arguments.modules)
    there = {mutant.key() for stratum in found.values() for mutant in stratum}
    for key in equivalent:
        if key[0].split("/")[2] in arguments.modules and key not in there:
            print(f"# argued, and there no more: {' | '.join(key)}", flush=True)
    if arguments.only:
        for stratum in found.values():
            stratum[:] = [mutant for mutant in stratum if arguments.only in (mutant.path, f"{mutant.path}:{mutant.line}")]
    source = drawn(found, arguments.seed)
    compiler = Compiler(arguments.work)
    chosen, argued, no_mutants = [], [], {"refused": 0, "same": 0}
    while len(chosen) + len(argued) < arguments.count:
        batch = list(itertools.islice(source, arguments.count - len(chosen) - len(argued)))
        if not batch:
            break
        for mutant, outcome in zip(batch, pool.map(compiler.outcome, batch)):
            if outcome != "other":
                no_mutants[outcome] += 1
            elif mutant.key() in equivalent:
                argued.append(mutant)
            else:
                chosen.append(mutant)
                mutant.number = len(chosen)
    return chosen, argued, no_mutants


def survey(arguments):
    os.makedirs(arguments.work, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        began = time.monotonic()
        chosen, argued, no_mutants = choose(arguments, pool)
        print(f"# {time.monotonic() - began:.0f} s: {len(chosen)} mutants are drawn", flush=True)
        tree = Tree(arguments.work, arguments.jobs)
        tree.plant(chosen)
        cheap, dear = tree.tests()
        tree.set_flavour("asan")
        sanitized, _ = tree.tests()
        left = chosen
        for flavour, tests in (("release", cheap), ("asan", sanitized), ("release", dear)):
            if not left:
                break
            tree.set_flavour(flavour)
            tree.build(tests)
            list(pool.map(lambda test: tree.run_once(test, len(chosen)), tests))
            print(f"# {time.monotonic() - began:.0f} s: {len(tests)} tests ({flavour}) ran without a fault; {len(left)} mutants meet them", flush=True)
            futures = [pool.submit(tree.judge, mutant, tests, arguments.seconds) for mutant in left]
            for count, future in enumerate(concurrent.futures.as_completed(futures), 1):
                mutant = future.result()
                print(f"# {count} {mutant.outcome} {mutant.seconds:.1f} s {mutant.by}: {mutant.name()}", flush=True)
            left = [mutant for mutant in chosen if mutant.outcome == "survived"]
        print(f"# {time.monotonic() - began:.0f} s: all are judged", flush=True)
    return chosen, argued, no_mutants


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or int.from_bytes(os.urandom(4), "big")))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--least", type=float, default=95)
    parser.add_argument("--work", default=os.path.join(ROOT, "build-mutants"))
    parser.add_argument("--modules", type=lambda text: text.split(","), default=MODULES)
    parser.add_argument("--only", help="only faults of that file, or line of a file")
    arguments = parser.parse_args()
    print(f"# mutants: --seed {arguments.seed} --count {arguments.count} --seconds {arguments.seconds}", flush=True)
    judged, argued, no_mutants = survey(arguments)
    survivors = [mutant for mutant in judged if mutant.outcome == "survived"]
    with open(os.path.join(arguments.work, "survivors.tsv"), "w") as file:
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
