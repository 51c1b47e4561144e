"""Prints what the runs of experiments/gpu/overlap.sh came to. Usage: overlap.py RESULTS

Seconds are of the steps after the third in which nothing was compiled; success is on validation, in %: first call / whole episode.
"""

import pathlib
import statistics
import sys

import common

results, table = pathlib.Path(sys.argv[1]), {}
systems = (common.report(results / "eval.json") or {"systems": {}})["systems"]
for name in ["fast_0", "fast_1", "slow_0", "slow_1"]:
    steps = [m for m in common.rows(results / name / "metrics.jsonl") if m["stage"] == "grpo"]
    took = [m["step_time"] for m in steps[3:] if not m["time/compile"]]
    if not took:
        continue
    row = {"steps": len(steps), "seconds": statistics.mean(took), "staleness": statistics.mean(m.get("staleness", 0) for m in steps),
           "mismatch": statistics.median(m["sampling/mismatch_kl"] for m in steps[3:]), "reward": steps[-1]["reward"]}
    for s in systems.values():
        if f"/{name}/" in f"/{s['model'].get('adapter')}":
            row["first"], row["episode"] = 100 * (s["success"] or 0), 100 * s["episode_success"]
    table[name] = row
common.keep(results / "table.json", table)
print(f"{'run':8} {'steps':>5} {'s/step':>7} {'stale':>6} {'KL':>9} {'reward':>7}  success")
for name, r in table.items():
    print(f"{name:8} {r['steps']:5} {r['seconds']:7.2f} {r['staleness']:6.2f} {r['mismatch']:9.2e} {r['reward']:7.2f}  {r.get('first', float('nan')):.0f} / {r.get('episode', float('nan')):.0f}")
for kind in ["fast", "slow"]:
    if f"{kind}_0" in table and f"{kind}_1" in table:
        print(f"{kind}: {100 * (1 - table[f'{kind}_1']['seconds'] / table[f'{kind}_0']['seconds']):.0f}% less time a step with overlap (the bar: 20%)")
