"""Prints of each evaluated episode of a run what came of it, a JSON object a line: arm, scenario, kind, passed; and of each arm that
sampled, how many rollouts that took, those of recoveries and explorations among them. Usage: rows.py RUN"""

import collections
import json
import pathlib
import re
import sys

run = pathlib.Path(sys.argv[1])
kinds = {}
for tasks in json.loads((run / "tasks.json").read_text()).values():
    for task in tasks if isinstance(tasks, list) else []:
        if isinstance(task, dict) and "id" in task:
            kinds[task["id"]] = next((t.removeprefix("kind:") for t in task.get("tags", []) if t.startswith("kind:")), "")
rows, rollouts = {}, collections.Counter()
with (run / "trajectories.jsonl").open() as lines:
    for line in lines:
        stage = re.search(r'"stage": ?"(\w+)"', line[:400])[1]
        if not stage.startswith("eval_"):
            rollouts[stage.split("_")[0]] += 1
            continue
        t = json.loads(line)
        if "terms" not in t:  # it was lost, and counts in no rate
            continue
        checks = [x["score"] for x in t["terms"] if x["name"] == "checks"]
        # By its hash a task is the same in runs of other seeds only where it is.
        rows[t["stage"], t["scenario_hash"][:16]] = {"kind": kinds.get(t["scenario_id"], ""), "passed": t["outcome"] == "ok" and checks == [1]}
for (stage, scenario), row in rows.items():
    print(json.dumps({"arm": stage.removeprefix("eval_"), "scenario": scenario, **row}))
for arm, n in rollouts.items():
    print(json.dumps({"arm": arm, "rollouts": n}))
