"""Cuts what gpu/sidecar.sh prepares to the size of a run: points of both servers, and the demonstrations of two upstreams.

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
points = [p for p in points if size(p) < 1200 and len(json.dumps(p["gold"])) < 260]  # what fits the completions of a run
kept = []
for split, most in (("train", 400), ("validation", 141), ("test", 520)):
    some = [p for p in points if p["split"] == split]
    draw.shuffle(some)
    kept += some[:most]
    print(split, len(some[:most]), "of", len(some))
write("points/points.jsonl", kept)
shown = read("calc/upstream.jsonl")
draw.shuffle(shown)
shown = [s for s in shown if len(json.dumps(s["messages"])) < 1500]
write("weak.jsonl", shown[:96])
write("held.jsonl", shown[96:288])
