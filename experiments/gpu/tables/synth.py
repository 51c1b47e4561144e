"""Prints the results of experiments/gpu/synth.sh as one table: synth.py RESULTS SEED..."""

import glob
import sys

import common

SETS = ("seen_tools", "unseen_tools", "unseen_server")
METRICS = ("success", "tool", "param", "ast")


def rates(results, seed, test):
    """{arm: {metric: rate}} of one seed's evaluation, and how many scenarios it has."""
    evaluation = common.report(f"{results}/{seed}/eval-{test}.json")
    if evaluation is None:
        return {}, 0
    out, n = {}, 0
    for name, system in evaluation["systems"].items():
        out[name] = {"success": system["success"]}
        n = system["n"]
    for path in glob.glob(f"{results}/{seed}/eval-{test}.*.calls"):
        totals = common.report(path)
        arm = path.rsplit(".", 2)[1]
        if totals and arm in out:
            for m in ("tool", "param", "ast"):
                out[arm][m] = totals[m]["mean"]
    return out, n


def cell(values):
    values = [v for v in values if v is not None]
    if not values:
        return "-"
    mean = sum(values) / len(values)
    if len(values) == 1:
        return f"{100 * mean:.0f}"
    return f"{100 * mean:.0f} ({' '.join(f'{100 * v:.0f}' for v in values)})"


def main(results, seeds):
    table = [["SET", "N", "ARM"] + [m.upper() for m in METRICS]]
    for test in SETS:
        got = [rates(results, seed, test) for seed in seeds]
        arms = sorted({a for g, _ in got for a in g}, key=lambda a: (a != "base", a))
        for arm in arms:
            table.append([test if arm == arms[0] else "", str(max(n for _, n in got)) if arm == arms[0] else "", arm]
                         + [cell([g.get(arm, {}).get(m) for g, _ in got]) for m in METRICS])
    common.columns(table)
    print(f"percent; mean over the seeds {' '.join(seeds)}, each seed's in brackets")


main(sys.argv[1], sys.argv[2:])
