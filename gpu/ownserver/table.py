"""Prints the results of gpu/ownserver.sh, and writes them to RESULTS/ownserver.json: table.py RESULTS SEED...

All in percent, with the 95% intervals of hone eval. call: the first call is the gold one. task: all checks hold.
"""

import json
import os
import sys

SETS = {"hand": "written by hand", "made": "synthesised, held out"}
NUMBERS = {"call": "first_call", "task": "completion"}
SYSTEMS = ("base", "sft", "grpo")


def system_of(name):
    parts = name.split("/")
    return next((s for s in SYSTEMS if s in parts), name)


def cell(i):
    return f"{100 * i['mean']:.0f} [{100 * i['low']:.0f}, {100 * i['high']:.0f}] of {i['n']}" if i else "-"


def main(results, seeds):
    table, kept = [["SEED", "TASKS", "SYSTEM", *[n.upper() for n in NUMBERS]]], {}
    for seed in seeds:
        for name, title in SETS.items():
            path = f"{results}/{seed}/eval-{name}.json"
            if not os.path.exists(path):
                continue
            report = json.load(open(path))
            kept.setdefault(seed, {})[name] = {"systems": report["systems"], "deltas": report.get("deltas", [])}
            for key, s in report["systems"].items():
                table.append([seed, title, system_of(key), *[cell(s.get("metrics", {}).get(m)) for m in NUMBERS.values()]])
            for d in report.get("deltas", []):
                what = f"{system_of(d['new'])} - {system_of(d['old'])}"
                table.append([seed, title, what, *[cell(d.get("metrics", {}).get(m)) for m in NUMBERS.values()]])
    widths = [max(len(r[i]) for r in table) for i in range(len(table[0]))]
    for r in table:
        print("  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip())
    with open(f"{results}/ownserver.json", "w") as f:
        json.dump(kept, f, indent=1)


main(sys.argv[1], sys.argv[2:])
