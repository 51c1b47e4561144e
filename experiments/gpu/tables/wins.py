"""Prints what the trials of experiments/gpu/wins.sh came to, the best first: means over the seeds that all have, in %. Usage: wins.py RESULTS

A cell is first call / whole episode. Beside them, by seed: how many rollouts the arm took, of GRPO its entropy at the first and the last step, the step that
was best on validation, and how many explorations passed.
Below: whole episodes of each pair of GRPO and a rival on the same seeds, the mean of the seeds, with a 95% interval (paired bootstrap over
tasks, those that seeds share together, 10,000 draws); each arm's rate by kind of task and by wording; and what those that failed failed by, in % of the kind.
"""

import collections
import json
import pathlib
import random
import statistics
import sys

import common

results = pathlib.Path(sys.argv[1])
rows = collections.defaultdict(dict)  # (trial, arm) -> seed -> numbers


def metrics(run, stage):
    return [m for m in common.rows(run / "metrics.jsonl") if m["stage"] == stage]


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
                row["explored"] = sum(m.get("explorations/passed", 0) for m in steps)
            if held:
                best = max(held, key=lambda m: (m.get("success", 0), m.get("reward", 0)))
                row["best"] = [best["step"], 100 * best.get("success", 0)]
        rows[trial, arm][seed] = row  # each run trains its own start, and on a GPU these differ by a point or two

for file in results.glob("*-*.rows"):
    trial, seed = file.stem.rsplit("-", 1)
    for row in common.rows(file):
        if "rollouts" in row and seed in rows.get((trial, row["arm"]), {}):
            rows[trial, row["arm"]][seed]["rollouts"] = row["rollouts"]

table = []
for (trial, arm), seeds in rows.items():
    mean = lambda key: statistics.mean(r[key] for r in seeds.values())
    table.append({"trial": trial, "arm": arm, "seeds": sorted(seeds), "first": mean("first"), "episode": mean("episode"), "by_seed": seeds})
table.sort(key=lambda r: (-len(r["seeds"]), -r["episode"]))
common.keep(results / "table.json", table)
print(f"{'trial':16} {'arm':10} {'seeds':8} {'first':>6} {'episode':>8}  by seed")
for r in table:
    each = "  ".join(f"{x['first']:.0f}/{x['episode']:.0f}" for _, x in sorted(r["by_seed"].items()))
    more = ""
    for _, x in sorted(r["by_seed"].items()):
        if "rollouts" in x:
            more += f"  {x['rollouts']} rollouts"
        if "entropy" in x and None not in x["entropy"]:
            more += f"  {x['entropy'][0]:.2f}->{x['entropy'][1]:.3f}"
        if "best" in x:
            more += f" best@{x['best'][0]}"
        if x.get("explored"):
            more += f" explored {x['explored']:.0f}"
    print(f"{r['trial']:16} {r['arm']:10} {','.join(r['seeds']):8} {r['first']:6.1f} {r['episode']:8.1f}  {each}{more}")

passed = collections.defaultdict(dict)  # (trial, arm) -> (seed, scenario) -> 0 or 1
kinds, wordings, whys = {}, {}, collections.defaultdict(dict)
for file in sorted(results.glob("*-*.rows")):
    trial, seed = file.stem.rsplit("-", 1)
    for row in common.rows(file):
        if row["arm"] != "base" and "passed" in row:
            passed[trial, row["arm"]][seed, row["scenario"]] = int(row["passed"])
            kinds[row["scenario"]], wordings[row["scenario"]] = row["kind"], row.get("wording", "")
            whys[trial, row["arm"], row["kind"]][seed, row["scenario"]] = row.get("why", "passed")
for (trial, arm), own in sorted(passed.items()):
    summed = rows.get((trial, arm), {})
    for seed in {s for s, _ in own}:
        rate = 100 * statistics.mean(v for (s, _), v in own.items() if s == seed)
        if arm != "start" and seed in summed and abs(rate - summed[seed]["episode"]) > 1e-6:
            print(f"{trial} {arm} {seed}: {rate:.1f}% of its episodes passed, and its summary says {summed[seed]['episode']:.1f}%")


def interval(new, old):
    """The mean of the seeds' paired differences and its 95% interval, in points."""
    by_task = collections.defaultdict(list)
    for key in new.keys() & old.keys():
        by_task[key[1]].append(100 * (new[key] - old[key]))
    sums = [(sum(d), len(d)) for _, d in sorted(by_task.items())]
    if not sums:
        return None
    draw, means = random.Random(1), []
    for _ in range(10000):
        picked = draw.choices(sums, k=len(sums))
        means.append(sum(d for d, _ in picked) / sum(n for _, n in picked))
    means.sort()
    return sum(d for d, _ in sums) / sum(n for _, n in sums), means[250], means[9749], len(sums)


for (trial, arm), own in sorted(passed.items()):
    for (other, rival), theirs in sorted(passed.items()):
        if arm == "grpo" and rival != "grpo" and (rival != "start" or other == trial) and (x := interval(own, theirs)):
            print(f"{trial} over {other} {rival}: {x[0]:+.1f} [{x[1]:.1f}, {x[2]:.1f}] points of {x[3]} tasks")
            for wording in sorted(set(wordings.values())) if len(set(wordings.values())) > 1 else []:
                part = [{key: v for key, v in of.items() if wordings[key[1]] == wording} for of in (own, theirs)]
                if x := interval(*part):
                    print(f"  wordings {wording}: {x[0]:+.1f} [{x[1]:.1f}, {x[2]:.1f}] points of {x[3]} tasks")
if passed:
    arms = [key for key in sorted(passed) if key[1] != "start" or (key[0], "grpo") in passed]
    print(f"{'kind':26}" + "".join(f"{trial + ' ' + arm:>24}" for trial, arm in arms))
    for of, mark in (kinds, ""), (wordings, "wordings "):
        for value in sorted(set(of.values())):
            cells = ""
            for key in arms:
                own = [v for (_, scenario), v in passed[key].items() if of[scenario] == value]
                cells += f"{100 * statistics.mean(own):24.0f}" if own else f"{'':24}"
            print(f"{mark + value:26}{cells}")
    for (trial, arm, kind), own in sorted(whys.items(), key=lambda w: (w[0][2], w[0])):
        if (trial, arm) not in arms:
            continue
        counted = collections.Counter(own.values())
        print(f"{kind:16} {trial + ' ' + arm:26}" + ", ".join(f"{why} {100 * n / len(own):.0f}" for why, n in counted.most_common(6)))
