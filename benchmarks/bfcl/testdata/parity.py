"""Compares hone-bench calls with BFCL's own checker on fresh verdicts, all categories and languages.

Usage: python parity.py HONE [CASES [SEED]], HONE being the binary. Needs: requirements.txt.
Cases are those of generate.py, then every row of BFCL's data that has gold calls: its possible answers as output, and those
changed. They must agree in all; where BFCL's checker ends with an error, hone must say that it does. Gold whose accepted values
are no list is refused by hone before anything is graded, whatever BFCL makes of it.
"""

import collections
import copy
import itertools
import json
import random
import subprocess
import sys

from generate import Generator, directed
from real import CONVERTERS, POSSIBLE_ANSWER_PATH, PROMPT_PATH, verdict

CHANGES = 6  # of each row of BFCL's data


def rows(path):
    with open(path) as f:
        return {row["id"]: row for row in map(json.loads, f)}


def official(generator):
    """BFCL's rows as cases."""
    for path in sorted(PROMPT_PATH.glob("BFCL_v4_*.json")):
        category = path.stem.removeprefix("BFCL_v4_")
        if not any(word in category for word in ("simple", "multiple", "parallel", "relevance")):
            continue
        answers = POSSIBLE_ANSWER_PATH / path.name
        answers = rows(answers) if answers.exists() else {}
        language = "javascript" if "javascript" in category else "java" if "java" in category else "python"
        for row_id, row in rows(path).items():
            gold = answers[row_id]["ground_truth"] if answers else []
            base = {"id": row_id, "category": category, "language": language, "tools": row["function"], "gold": gold}
            calls = [[name, answer(generator, accepted)] for call in gold for name, accepted in call.items()]
            yield base | {"output": [{"name": n, "arguments": json.dumps(a)} for n, a in calls]}
            if not gold and row["function"]:
                calls = [[generator.r.choice(row["function"])["name"], {}]]
            for _ in range(CHANGES):
                yield generator.finish(category, language, base["tools"], gold, copy.deepcopy(calls)) | {"id": row_id}


def answer(generator, accepted):
    """Arguments that a gold call accepts."""
    out = {}
    for name, values in accepted.items():
        values = [v for v in values if v != ""] if generator.chance(0.7) else values
        if values and (v := generator.r.choice(values)) != "":
            out[name] = plain(generator, v)
    return out


def plain(generator, v):
    if isinstance(v, dict):
        return {k: generator.r.choice(x) for k, x in v.items() if isinstance(x, list) and x}
    if isinstance(v, list):
        return [plain(generator, x) for x in v]
    return v


def ask(hone, cases):
    lines = "".join(json.dumps(c) + "\n" for c in cases)
    done = subprocess.run([hone, "calls", "-q"], input=lines.encode(), capture_output=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(cases):
        raise SystemExit(f"{len(answers)} answers for {len(cases)} lines: {done.stderr.decode()[-2000:]}")
    return answers


def has_lists(gold):
    return all(isinstance(values, list) for call in gold for accepted in call.values() for values in accepted.values())


def agree(case, want, got):
    if not has_lists(case["gold"]):
        return "accepted values must be a list" in got.get("error", "")
    if "error" in got:
        return False
    stopped = any(e.startswith("checker_error") for e in got["errors"])
    return (stopped and not got["valid"]) if isinstance(want, str) else (not stopped and got["valid"] == want and got["ast"] == want)


def compare(hone, name, cases):
    """Returns how many differ, and prints the first of them."""
    counts, different = collections.Counter(), 0
    while batch := list(itertools.islice(cases, 5000)):
        batch = [json.loads(json.dumps(case)) for case in batch]  # as BFCL reads it: all NaN of its reader are one object
        for case, got in zip(batch, ask(hone, batch)):
            want = verdict(case)
            counts[case["category"].removeprefix("live_"), "error" if isinstance(want, str) else want] += 1
            if not agree(case, want, got):
                different += 1
                if different <= 5:
                    print("DIFFERENT: BFCL", want, "hone", json.dumps(got), "\n ", json.dumps(case))
            if got.get("valid") and not (got["tool"] and got["param"]) and "relevance" not in case["category"]:
                different += 1
                print("VALID WITHOUT PARAM:", json.dumps(got), json.dumps(case))
    print(f"{name}: {counts.total()} verdicts, {different} different;", ", ".join(f"{c} {v}: {n}" for (c, v), n in sorted(counts.items(), key=str)))
    return different


def main(hone, num_cases="20000", seed=None):
    seed = int(seed) if seed else random.randrange(2**32)
    print("seed", seed)
    g = Generator(seed)
    different = compare(hone, "generated", (g.case(CONVERTERS) for _ in range(int(num_cases))))
    different += compare(hone, "directed", directed())
    different += compare(hone, "BFCL's data", official(g))
    sys.exit(different > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
