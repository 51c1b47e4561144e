"""Makes the arms of experiments/gpu/synth.sh of collected demonstrations, all of one size: arms.py FOLDER.

filtered: what execution and gates let through. unfiltered: with what the execution threw out, in the share in which it was drafted,
one in ten at least. ungated: with what the quality gate threw out, where there is a judge.
"""

import json
import os
import random
import shutil
import sys

LEAST = 0.1  # share of failing demonstrations without the execution filter


def rows(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [json.loads(line) for line in f if line.strip()]


def main(folder):
    os.chdir(folder)
    ids = {}
    for row in json.load(open("fell.json")):
        stage = next(t[5:] for t in row["tags"] if t.startswith("fell:"))
        ids[row["id"]] = "execute" if stage == "execute" else "gate"
    good, fell = rows("shown/trajectories.jsonl"), rows("fallen/trajectories.jsonl")
    broken = [r for r in fell if ids[r["scenario_id"]] == "execute"]
    poor = [r for r in fell if ids[r["scenario_id"]] == "gate"]
    draw = random.Random(0)
    draw.shuffle(good)
    size = len(good)

    def mixed(others, least):
        share = max(least, len(others) / max(1, len(others) + len(good)))
        n = min(len(others), round(share * size))
        out = draw.sample(others, n) + good[: size - n]
        draw.shuffle(out)
        return out, n / size

    arms = {"filtered": (good, 0.0), "unfiltered": mixed(broken, LEAST)}
    if poor:
        arms["ungated"] = mixed(poor, LEAST)
    for name, (list_, share) in arms.items():
        with open(f"arm-{name}.jsonl", "w") as f:
            for r in list_:
                f.write(json.dumps(r) + "\n")
        print(f"arm {name}: {len(list_)} demonstrations, {share:.0%} of them thrown out elsewhere")
    if arms["unfiltered"][1] < LEAST:
        sys.exit(f"only {len(broken)} demonstrations fell at the execution: one in ten is wanted; raise N")
    shutil.copy("shown/catalog.json", "catalog.json")
    other = json.load(open("other.json"))
    for s in other:
        s["split"] = "test"
    json.dump(other, open("other.json", "w"), indent=1)
    seen = json.load(open("seen.json"))
    print("tasks:", {s: sum(r["split"] == s for r in seen) for s in ("train", "validation", "test")}, "and", len(other), "of the unseen server")


main(sys.argv[1])
