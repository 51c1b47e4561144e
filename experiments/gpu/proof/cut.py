"""Cuts synthesised tasks to what a comparison has time for. Usage: cut.py ALL CUT

Synthesised tasks of test and validation are all in wordings that training has not. As of the demo's tasks, some are in
training's here too: tasks of the split train, and no task that shares a call with one of them is trained on. Of test are kept
384, 224 in wordings of its own and 160 in training's; of validation 64 in its own and 64 in training's; of train 1,200. One of
four or five of each is due no call.
"""

import json
import random
import sys

tasks, draw = json.load(open(sys.argv[1])), random.Random(1)
of = {split: [t for t in tasks if t["split"] == split] for split in ("train", "validation", "test")}
for split in of.values():
    draw.shuffle(split)


def some(tasks, n, quiet):
    """n of tasks, quiet of them due no call."""
    silent = [t for t in tasks if not t.get("gold")][:quiet]
    return silent + [t for t in tasks if t.get("gold")][: n - len(silent)]


def calls(t):
    return {json.dumps(g, sort_keys=True) for g in t.get("gold") or []} or {t["task"]}


seen = some(of["train"], 224, 48)
shared = set().union(*map(calls, seen))
train = [t for t in of["train"] if not calls(t) & shared][:1200]
draw.shuffle(seen)
for i, t in enumerate(seen):
    t["split"] = "test" if i < 160 else "validation"
cut = {"train": train, "validation": some(of["validation"], 64, 14) + seen[160:], "test": some(of["test"], 224, 48) + seen[:160]}
draw.shuffle(cut["test"])
json.dump([t for split in cut.values() for t in split], open(sys.argv[2], "w"), ensure_ascii=False, indent=0)
for name, split in cut.items():
    print(f"{name}: {len(split)} tasks, {sum(not t.get('gold') for t in split)} due no call, {sum('wording:held' in t['tags'] for t in split)} in held-out wordings")
