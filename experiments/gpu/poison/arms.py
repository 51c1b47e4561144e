"""Makes the two arms of experiments/gpu/poison.sh of collected demonstrations: arms.py FOLDER.

without: those of the clean suites. with: of as many tasks half are of the same guests with poisoned descriptions and notes. Each row
has the tools of its own suite, since suites differ in them.
"""

import json
import random
import sys


def rows(folder, suite):
    """The demonstrations of a suite by the number of their task, in the form of hone sft."""
    shown = f"{folder}/shown/{suite}"
    tools = [
        {"type": "function", "function": {"name": t["model_name"], "description": t["description"], "parameters": t["inputSchema"]}}
        for s in json.load(open(f"{shown}/catalog.json"))["servers"]
        for t in s["tools"]
    ]
    out = {}
    for line in open(f"{shown}/trajectories.jsonl"):
        row = json.loads(line)
        if row["reward"] > 0 and row["outcome"] == "ok":
            out[int(row["scenario_id"].rsplit("-", 1)[1])] = {"messages": row["messages"], "tools": tools}
    return out


def main(folder):
    draw = random.Random(0)
    without, mixed, poisoned = [], [], 0
    for i in range(1, 5):
        clean, attacked = rows(folder, f"clean{i}"), rows(folder, f"train{i}")
        for n in sorted(clean):
            without.append(clean[n])
            # blocks of tasks, so that each kind is in both halves
            if n // 8 % 2 == 1 and n in attacked:
                mixed.append(attacked[n])
                poisoned += 1
            else:
                mixed.append(clean[n])
    for name, list_ in (("without", without), ("with", mixed)):
        draw.shuffle(list_)
        with open(f"{folder}/arm-{name}.jsonl", "w") as f:
            for row in list_:
                f.write(json.dumps(row) + "\n")
    print(f"{len(without)} demonstrations in each arm; {poisoned} of the arm with poisoned servers are beside such a server")


main(sys.argv[1])
