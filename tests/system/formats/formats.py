"""Verdicts and reports against their schemas, by a validator that is not ours (python3-jsonschema). TAP on stdout.

formats.py PROGRAM: every verdict of the golden command line cases and of tests/data/explain fits
deploy/schemas/verdict.schema.json, wrong ones do not; every explained case's SARIF and JUnit have what their formats require.
"""
import copy
import glob
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

from jsonschema import Draft202012Validator

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
results = []


def result(good, name, why=""):
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}")
    if not good:
        print(f"#   {why}")


def validator(path):
    with open(os.path.join(root, path)) as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def fault(judge, document):
    """The innermost reason, or None."""
    errors = list(judge.iter_errors(document))
    return None if not errors else "; ".join(str(e.message)[:300] for e in errors[:3])


def unmask(line):
    """Golden cases have letters where times and memory stood."""
    for name in ("load", "sort", "check", "total"):
        line = line.replace(f'"{name}":T', f'"{name}":0')
    return line.replace('"peak_rss_bytes":N', '"peak_rss_bytes":0')


def verdicts():
    """(where, document) of every verdict and line in golden files."""
    paths = glob.glob(f"{root}/tests/cli/cases/*/stdout") + glob.glob(f"{root}/tests/data/explain/*/verdict.json")
    for path in sorted(paths):
        with open(path, errors="replace") as file:
            for number, line in enumerate(file, 1):
                if not line.startswith('{"'):
                    continue
                try:
                    document = json.loads(unmask(line))
                except ValueError:
                    continue
                if "axiom" in document or "isochron" in document:
                    yield f"{os.path.relpath(path, root)}:{number}", document


def check_verdicts():
    judge, seen = validator("deploy/schemas/verdict.schema.json"), {}
    faults = []
    for where, document in verdicts():
        found = document.get("violations", [document] if "axiom" in document else [])
        for violation in found:
            seen[violation["axiom"]] = seen.get(violation["axiom"], 0) + 1
        why = fault(judge, document)
        if why:
            faults.append(f"{where}: {why}")
    result(not faults, f"all verdicts fit the schema ({sum(seen.values())} violations)", "\n#   ".join(faults[:5]))
    expected = {"TIMESTAMP", "SESSION", "INT", "EXT", "NOCONFLICT", "CDC", "G1a", "G1b", "THINAIR", "INCOMPATIBLE", "LOSTUPDATE", "CYCLE"}
    result(set(seen) == expected, "among them is every axiom", str(expected - set(seen)))
    return judge


def check_mutants(judge):
    """What a careless change of the program could print is refused."""
    with open(f"{root}/tests/data/explain/EXT-stale/verdict.json") as file:
        good = json.load(file)
    result(fault(judge, good) is None, "the verdict that is spoilt next is good", str(fault(judge, good)))
    spoil = {
        "a timestamp as a number": lambda v: v["violations"][0].update(sts=20),
        "a moment as a number": lambda v: v["violations"][0].update(times={"look": 20, "inclusive": True}),
        "a moment without its side": lambda v: v["violations"][0].update(times={"look": "20"}),
        "a writer without its commit": lambda v: v["violations"][0].update(times={"look": "20", "inclusive": True, "expected": {"sts": "1"}}),
        "a tid as a number": lambda v: v["violations"][0].update(tids=[9]),
        "a value as a number": lambda v: v["violations"][0].update(actual=3),
        "an unknown axiom": lambda v: v["violations"][0].update(axiom="EXTERNAL"),
        "an unknown kind": lambda v: v["violations"][0].update(kind="old"),
        "no counts": lambda v: v.pop("counts"),
        "a violation where it holds": lambda v: v.update(verdict="holds"),
        "undecided without a reason": lambda v: v.update(verdict="undecided"),
        "a place without a line": lambda v: v["violations"][0]["at"][0].pop("line"),
        "a cycle without edges": lambda v: v["violations"][0].update(axiom="CYCLE", anomaly="G0"),
    }
    answers = {"isochron": "0.1.0", "level": "all", "engine": "any-order", "strongest": ["cc"], "undecided": [],
               "levels": {"cc": {"verdict": "holds"}, "ra": {"verdict": "holds", "since": "cc"}}, "seconds": {}, "peak_rss_bytes": 0,
               **dict.fromkeys(("transactions", "aborted", "unknown", "operations", "sessions", "keys"), 1)}
    result(fault(judge, answers) is None, "answers at several levels are good", str(fault(judge, answers)))
    for name, change in {"a level that is none": lambda v: v["strongest"].append("rr"),
                         "an answer without a verdict": lambda v: v["levels"]["cc"].pop("verdict"),
                         "at_least without its verdict": lambda v: v.update(at_least="ra")}.items():
        spoilt = copy.deepcopy(answers)
        change(spoilt)
        result(fault(judge, spoilt) is not None, f"refused: {name}", "it was taken")
    for name, change in spoil.items():
        spoilt = copy.deepcopy(good)
        change(spoilt)
        result(fault(judge, spoilt) is not None, f"refused: {name}", "it was taken")


def explain(program, case, report):
    command = [program, "explain", "--report", report, f"{case}/history.jsonl", f"{case}/verdict.json"]
    if case.endswith("-initial"):
        command[2:2] = ["--initial", "0"]
    return subprocess.run(command, capture_output=True, check=False).stdout.decode()


def sarif_fault(judge, text):
    document = json.loads(text)
    why = fault(judge, document)
    run = document["runs"][0]
    for one in run["results"]:
        if run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] != one["ruleId"]:
            why = "ruleIndex is not of ruleId"
    return why or (None if run["results"] else "no results")


def junit_fault(text):
    suite = ElementTree.fromstring(text).find("testsuite")
    cases, failures = suite.findall("testcase"), suite.findall("testcase/failure")
    if [int(suite.get(n)) for n in ("tests", "failures", "errors")] != [len(cases), len(failures), 0]:
        return "the counts are wrong"
    if any(not c.get("name") or not c.get("classname") for c in cases) or any(not f.text for f in failures):
        return "a case lacks its name, or a failure its text"
    return None if failures else "no failures"


def check_reports(program):
    judge = validator("tests/system/formats/sarif-required.schema.json")
    sarif, junit = [], []
    cases = sorted(glob.glob(f"{root}/tests/data/explain/*"))
    for case in cases:
        for faults, why in ((sarif, sarif_fault(judge, explain(program, case, "sarif"))), (junit, junit_fault(explain(program, case, "junit")))):
            if why:
                faults.append(f"{os.path.basename(case)}: {why}")
    result(cases and not sarif, f"SARIF of {len(cases)} cases has what the standard requires", "\n#   ".join(sarif[:5]))
    result(cases and not junit, f"JUnit of {len(cases)} cases is well formed and counts right", "\n#   ".join(junit[:5]))


def check_hostile(program):
    evil = "]]></failure><x>&\"'\u202e\ufffe</pre></details><script>"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a b%#?.jsonl")
        with open(path, "w") as file:
            for line in ({"tid": evil, "sid": 1, "sts": 1, "cts": 2, "ops": [{"t": "w", "k": evil, "v": evil}]},
                         {"tid": 2, "sid": 2, "sts": 3, "cts": 3, "ops": [{"t": "r", "k": evil, "v": "none\u0007"}]}):
                file.write(json.dumps(line) + "\n")
        def report(name):
            return subprocess.run([program, "check", "--report", name, path], capture_output=True, check=False).stdout.decode()
        result(sarif_fault(validator("tests/system/formats/sarif-required.schema.json"), report("sarif")) is None, "hostile: SARIF")
        result(junit_fault(report("junit")) is None, "hostile: JUnit")
        markdown = report("markdown")
        result("<script>" not in markdown and markdown.count("</pre>") == 1 and "\n\n" not in markdown[markdown.index("<details>"):],
               "hostile: Markdown")
        result(fault(validator("deploy/schemas/verdict.schema.json"), json.loads(report("json"))) is None, "hostile: JSON")


check_mutants(check_verdicts())
check_reports(sys.argv[1])
check_hostile(sys.argv[1])
print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
