"""Cuts synthesised tasks to what a comparison has time for, and keeps of test all that are due no call. Usage: cut.py ALL CUT"""

import json
import random
import sys

tasks, draw = json.load(open(sys.argv[1])), random.Random(1)
of = {split: [t for t in tasks if t["split"] == split] for split in ("train", "validation", "test")}
for split in of.values():
    draw.shuffle(split)
quiet = [t for t in of["test"] if not t.get("gold")]
test = quiet + [t for t in of["test"] if t.get("gold")][: 320 - len(quiet)]
draw.shuffle(test)
json.dump(of["train"][:1200] + of["validation"][:64] + test, open(sys.argv[2], "w"), ensure_ascii=False, indent=0)
print(f"{len(quiet)} of {len(test)} test tasks are due no call")
