"""Cuts what experiments/gpu/sidecar.sh prepares to the size of a run: points of both servers, and the demonstrations of two upstreams.

    python cut.py FOLDER
"""

import json
import random
import sys

folder = sys.argv[1]
draw = random.Random(1)


def read(path):
    return [json.loads(line) for line in open(f"{folder}/{path}")]


def write(path, rows):
    with open(f"{folder}/{path}", "w") as f:
        for r in rows:
            f.write(json.dumps(r, ensure_ascii=False) + "\n")


def size(p):
    return len(json.dumps(p["messages"])) + len(json.dumps(p["gold"]))


points = read("calc/points.jsonl") + read("memory/points.jsonl")
points = [p for p in points if size(p) < 1200 and len(json.dumps(p["gold"])) < 240]  # what fits the completions of a run
# Training points are cut by scenario. Validation, which chooses the confidences, is whole: its tasks are as far from training as those of test.
scenarios = sorted({p["scenario"] for p in points if p["split"] == "train"})
draw.shuffle(scenarios)
place = {name: i for i, name in enumerate(scenarios)}
spare = sorted((p for p in points if p["split"] == "train"), key=lambda p: (place[p["scenario"]], p["id"]))
learnt = spare[:640]
test = [p for p in points if p["split"] == "test"]
draw.shuffle(test)
kept = learnt + [p for p in points if p["split"] == "validation"] + test[:800]
print({s: sum(p["split"] == s for p in kept) for s in ("train", "validation", "test")})
write("points/points.jsonl", kept)
shown = read("calc/upstream.jsonl")
draw.shuffle(shown)
shown = [s for s in shown if len(json.dumps(s["messages"])) < 1500]
write("weak.jsonl", shown[:96])
write("held.jsonl", shown[96:288])
