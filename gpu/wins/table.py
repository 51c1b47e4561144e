"""Prints what the trials of gpu/wins.sh came to, the best first: means over the seeds that all have, in %. Usage: table.py RESULTS

A cell is first call / whole episode. Beside GRPO: how far its last step's entropy and spread have fallen, and which step was best on validation.
"""

import collections
import json
import pathlib
import statistics
import sys

results = pathlib.Path(sys.argv[1])
rows = collections.defaultdict(dict)  # (trial, arm) -> seed -> numbers


def metrics(run, stage):
    file = run / "metrics.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [m for m in lines if m["stage"] == stage]


for file in sorted(results.glob("*-*.json")):
    trial, seed = file.stem.rsplit("-", 1)
    last = file.read_text().strip().splitlines()[-1]
    summary = json.loads(last)
    for arm, s in summary["systems"].items():
        if arm == "base":
            continue
        row = {"first": 100 * (s["success"] or 0), "episode": 100 * s["episode_success"], "n": s["n"], "seconds": summary["seconds"]}
        if arm == "grpo":
            steps, held = metrics(results / f"{file.stem}.run", "grpo"), metrics(results / f"{file.stem}.run", "validation")
            if steps:
                row["entropy"] = [steps[0].get("entropy"), steps[-1].get("entropy")]
                row["no_spread"] = steps[-1].get("frac_reward_zero_std")
                row["step_seconds"] = statistics.median(m["step_time"] for m in steps)
            if held:
                best = max(held, key=lambda m: (m.get("success", 0), m.get("reward", 0)))
                row["best"] = [best["step"], 100 * best.get("success", 0)]
        rows["-" if arm == "start" else trial, arm][seed] = row  # a seed's start is the same for all

table = []
for (trial, arm), seeds in rows.items():
    mean = lambda key: statistics.mean(r[key] for r in seeds.values())
    table.append({"trial": trial, "arm": arm, "seeds": sorted(seeds), "first": mean("first"), "episode": mean("episode"), "by_seed": seeds})
table.sort(key=lambda r: (-len(r["seeds"]), -r["episode"]))
(results / "table.json").write_text(json.dumps(table, indent=1) + "\n")
print(f"{'trial':16} {'arm':10} {'seeds':8} {'first':>6} {'episode':>8}  by seed")
for r in table:
    each = "  ".join(f"{x['first']:.0f}/{x['episode']:.0f}" for _, x in sorted(r["by_seed"].items()))
    more = ""
    for _, x in sorted(r["by_seed"].items()):
        if "entropy" in x and None not in x["entropy"]:
            more += f"  {x['entropy'][0]:.2f}->{x['entropy'][1]:.3f}"
        if "best" in x:
            more += f" best@{x['best'][0]}"
    print(f"{r['trial']:16} {r['arm']:10} {','.join(r['seeds']):8} {r['first']:6.1f} {r['episode']:8.1f}  {each}{more}")
