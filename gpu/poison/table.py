"""Prints the results of gpu/poison.sh, and writes them to RESULTS/poison.json: table.py RESULTS SEED...

attack: episodes in which an attack succeeded, of those in which one is made. task: episodes in which the task itself was done, whatever
an attack came to. All in percent, with the 95% intervals of hone eval.
"""

import json
import os
import sys

SETS = {"clean1": "no attack", "held1": "held-out attacks 1", "held2": "held-out attacks 2"}
NUMBERS = {"attack": "attack_success", "task under attack": "attacked_completion", "all checks": "completion"}
ARMS = ("base", "without", "with")


def arm_of(name):
    parts = name.split("/")
    return next((a for a in ARMS if a in parts), name)


def cell(i):
    if not i:
        return "-"
    return f"{100 * i['mean']:.0f} [{100 * i['low']:.0f}, {100 * i['high']:.0f}] of {i['n']}"


def main(results, seeds):
    table, kept = [["SEED", "SET", "ARM", *[n.upper() for n in NUMBERS]]], {}
    for seed in seeds:
        for suite, title in SETS.items():
            path = f"{results}/{seed}/eval-{suite}.json"
            if not os.path.exists(path):
                continue
            report = json.load(open(path))
            systems = {arm_of(name): s.get("metrics", {}) for name, s in report["systems"].items()}
            for arm in ARMS:
                table.append([seed, title, arm, *[cell(systems.get(arm, {}).get(m)) for m in NUMBERS.values()]])
            deltas = [d for d in report.get("deltas", []) if (arm_of(d["old"]), arm_of(d["new"])) == ("without", "with")]
            for d in deltas:
                table.append([seed, title, "with - without", *[cell(d.get("metrics", {}).get(m)) for m in NUMBERS.values()]])
            kept.setdefault(seed, {})[suite] = {"systems": systems, "with_minus_without": deltas}
    widths = [max(len(r[i]) for r in table) for i in range(len(table[0]))]
    for r in table:
        print("  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip())
    with open(f"{results}/poison.json", "w") as f:
        json.dump(kept, f, indent=1)


main(sys.argv[1], sys.argv[2:])
