#!/usr/bin/python3 -B
"""Does reread.py find faults of the recorder's rules? Each of FAULTS takes one rule away, in a copy of the tree, which is built;
then one of the cases, else statements at random, has to show something untrue.

    mutants.py [--tree DIR] [--statements N] [--only TEXT,...]

Prints TAP: one line for each fault. Where a rule's text has changed, so has the line here: each has to be found once.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import reread

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))

# What the fault does, its file below src/recording/observe, the rule's text, and what it becomes.
FAULTS = [
    ("ONLY is taken for the table", "shape.c", "!table->inh ||", ""),
    ("columns with other names", "shape.c", "(table->alias && table->alias->n_colnames)", "false"),
    ("a table that stands twice", "shape.c", "        times = ++known->times;\n        is_top = false;\n", ""),
    ("DISTINCT ON is not seen", "shape.c", "look->statement->has_distinct_on |=", "look->statement->has_distinct_on &="),
    ("USING of outer joins", "shape.c", "(join->n_using_clause && !is_inner)", "false"),
    ("OFFSET leaves nothing out", "shape.c", "is_partial = select->limit_count || select->limit_offset ||", "is_partial = select->limit_count ||"),
    ("LIMIT leaves nothing out", "shape.c", "is_partial = select->limit_count || select->limit_offset ||", "is_partial = select->limit_offset ||"),
    ("DISTINCT leaves nothing out", "shape.c", "statement->is_distinct = select->n_distinct_clause > 0", "statement->is_distinct = false"),
    ("GROUP BY has every row", "shape.c", "!select->n_group_clause && !select->having_clause && !statement->has_distinct_on", "!statement->has_distinct_on"),
    ("a query within gives the rows", "shape.c", "node->range_var, look->selects == 1", "node->range_var, true"),
    ("a function that makes rows", "shape.c", "floor format greatest", "floor format generate_series greatest"),
    ("any function is harmless", "shape.c", "if (!name || !is_listed(name, functions))", "if (!name)"),
    ("a part is no part", "shape.c", "fine &= is_fine_part(look, parts[j]);", "is_fine_part(look, parts[j]);"),
    ("dates in any order", "condition.c", ": begins_with_day(string) &&", ": length >= 10 &&"),
    # A writing query in WITH two rules keep out, before INSERT, too: one by what it is, the other by the list of nodes. Either alone nobody misses.
    ("OVERRIDING", "shape.c", "insert->override == PG_QUERY__OVERRIDING_KIND__OVERRIDING_NOT_SET", "true"),
    ("overloads are the built-in ones", "agree.c", "return shadow && (shadow->is_of_any || has_user_types)", "return shadow && false"),
    ("each relation only is read", "agree.c", "if (!candidate->is_plain)", "if (false)"),
    ("a name means any table of that name", "reading.c", "return input->is_told ||", "return true ||"),
    ("FILTER is not seen", "reading.c", "call->agg_filter ||", ""),
    ("count(DISTINCT) counts all", "reading.c", "call->agg_distinct || !(counts", "!(counts"),
    ("an array's cast leaves its elements", "condition.c", "!keeps_all(asking, list, type)", "false"),
    ("NULLs are never first", "first.c", "bool has_nulls = order->nulls_first;", "bool has_nulls = false;"),
    ("an order's key always ascends", "first.c", "descends(sort) ? KEY_DESCENDS : KEY_ASCENDS", "KEY_ASCENDS"),
    ("a name in ORDER BY is a column's", "first.c", "*target->res_target->name ||", ""),
    ("WHERE may say more than the key", "key.c", "demands->conjuncts == count &&", ""),
    ("< is <=", "key.c", "is_strict ? is_low ? 1 : -1 : 0", "0"),
    ("a later part of the key is a range", "key.c", "all > first ||", ""),
    ("a key that is cast when it is written", "key.c", "(!value->type || reading_is_one_kind(value->type, column->type)) &&", ""),
    ("an UPDATE of the key", "write.c", "table->keeps_keys && !sets", "table->keeps_keys"),
    ("triggers, rules, defaults that write", "write.c", "written.alone = table->is_written_alone", "written.alone = true"),
    ("INCLUDE is part of the key", "catalog.sql", "[0:indnkeyatts - 1]", "[0:indnatts - 1]"),
    ("children are of the table", "catalog.sql", "AND NOT c.relhassubclass OR", "OR"),
    ("EXISTS of an aggregate", "shape.c", "is_row_by_row(within) &&", ""),
    ("an aggregate in ORDER BY", "shape.c", "!statement->has_aggregate &&", ""),
    ("a cursor reads now", "statement.c", "    if (portal->writes != transaction->writes)\n        return false;\n", ""),
    ("another cursor is no statement", "statement.c", "statement->kind != PLAN_DECLARE", "statement->kind != PLAN_FETCH && statement->kind != PLAN_DECLARE"),
    ("floats as the session spells them", "values.c", "return spelling->keeps_floats;", "return true;"),
    ("blanks of a varchar stay", "write.c", "|| (column->most && strlen(reading_text_of(&value)) > column->most)", ""),
    ("a parameter has the type of each place", "constant.c", "input->statement->parameters[number - 1] == 1", "true"),
    ("NOT is left out of a condition", "condition.c", "is_not ? \"NOT (\" : \"(\"", "\"(\""),
    ("NOT IN is IN", "condition.c", "strcmp(name, \"=\") ? \" NOT IN\" : \" IN\"", "\" IN\""),
    ("the lower of two bounds", "key.c", "number > demands->low", "number < demands->low"),
    ("times of day in any spelling", "condition.c", "type == PG_TIME ? is_clock(string)", "type == PG_TIME ? true"),
    ("letters are the database's", "catalog.sql", "WHEN o.collprovider <> 'd' THEN 'e'", "WHEN o.collprovider <> 'd' THEN 't'"),
    ("what is not understood has a place", "rows.c", "!at || !knows_place(reading, cells)", "!at"),
    ("words are names", "first.c", "reading_put_quoted(text, order->column->name, '\"'); if (order->is_null)", "reading_put_name(text, order->column->name); if (order->is_null)"),
    ("EXECUTE parts no transaction", "statement.c", "if (is_control(tag))", "if (false)"),
    ("ROLLBACK TO keeps what was recorded", "transaction.c", "iso_recorder_rollback_to(observed->session, observed->savepoints.list[i].mark);", ";"),
]


def planted(tree, fault):
    """None, or why it cannot be planted."""
    _, name, rule, other = fault
    path = os.path.join(tree, "src", "recording", "observe", name)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    pattern = re.compile(r"\s+".join(re.escape(word) for word in rule.split()))
    if len(pattern.findall(text)) != 1:
        return "the rule stands %d times in %s: %s" % (len(pattern.findall(text)), name, rule.strip())
    with open(path, "w", encoding="utf-8") as f:
        f.write(pattern.sub(lambda _: other, text))
    return None


def copied(tree):
    """A copy of what is built from, and of what was built, so that a fault costs one file's compilation."""
    copy = tempfile.mkdtemp(prefix="mutants.")
    files = subprocess.check_output(["git", "-C", tree, "ls-files", "-z"]).decode().split("\0")
    for name in files[:-1]:
        os.makedirs(os.path.dirname(os.path.join(copy, name)) or copy, exist_ok=True)
        shutil.copy2(os.path.join(tree, name), os.path.join(copy, name))
    if os.path.isdir(os.path.join(tree, "build", "obj")):
        subprocess.run(["cp", "-a", os.path.join(tree, "build"), copy], check=True)
    return copy


def made(tree):
    ran = subprocess.run(["make", "-s", "-j2", "-C", tree, "WERROR=-w", "build/isochron-proxy"], capture_output=True)
    return ran.returncode and "it does not compile: " + ran.stderr.decode()[-600:]


def attempt(fault, tree, stack, options):
    """Whether it was found, and how."""
    path = os.path.join(tree, "src", "recording", "observe", fault[1])
    with open(path, encoding="utf-8") as f:
        text = f.read()
    try:
        why = planted(tree, fault) or made(tree)
        if why:
            return False, why
        stack.other_proxy(tree + "/build/isochron-proxy")
        changed = False
        for name, steps in reread.in_order(glob.glob(os.path.join(HERE, "cases", "*.steps"))):
            untrue, _, changed = reread.run_case(stack, steps, changed)
            if untrue:
                stack.reset(changed)
                return True, "%s: %s" % (name, untrue[0][0])
        stack.reset(changed)
        return by_random(tree, options)
    finally:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


def by_random(tree, options):
    ran = subprocess.run([os.path.join(HERE, "reread.py"), "random", "--first", "--workers", "1", "--seed", "1",
                          "--statements", str(options.statements), "--show", "1",
                          "--proxy", tree + "/build/isochron-proxy"], capture_output=True)
    lines = ran.stdout.decode().split("\n")
    first = [line for line in lines if line.startswith("# session")]
    if ran.returncode == 0 or not first:
        return False, "nothing was untrue" if ran.returncode == 0 else ran.stdout.decode()
    return True, first[0][2:] + "".join(";" + line[1:] for line in lines if " statements in " in line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", default=ROOT)
    parser.add_argument("--statements", type=int, default=40000)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    wanted = options.only.split(",")
    faults = [fault for fault in FAULTS if any(word in fault[0] for word in wanted)]
    missed = 0
    tree = copied(options.tree)
    why = made(tree)
    if why:
        raise SystemExit(why)
    stack = reread.Stack(tree + "/build/isochron-proxy", reread.read_schema())
    try:
        stack.reset(False)
        for number, fault in enumerate(faults, 1):
            found, how = attempt(fault, tree, stack, options)
            missed += not found
            print("%sok %d - found: %s" % ("" if found else "not ", number, fault[0]))
            print("# " + how.replace("\n", "\n# "), flush=True)
    finally:
        stack.stop()
        shutil.rmtree(tree, ignore_errors=True)
    print("1..%d" % len(faults))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
