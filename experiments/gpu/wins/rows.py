"""Prints of each evaluated episode of a run what came of it, a JSON object a line: arm, scenario, kind, wording, passed, and why not; and of each arm
that sampled, how many rollouts that took, those of explorations among them. Usage: rows.py RUN"""

import collections
import json
import pathlib
import re
import sys



def why(t, gold):
    """What an episode failed by, in two words, the first that is so."""
    terms = {x["name"]: x for x in t["terms"]}
    failed, made = terms["checks"].get("why", ""), sum(len(turn.get("calls") or []) for turn in t["turns"])
    if t["outcome"] != "ok":
        return t["stop_reason"] or t["outcome"]
    if not gold:
        return "a call" if made else "wrong words"
    if not made:
        return "malformed call" if terms.get("parse", {}).get("score") else "no call"
    if "(call)" in failed:
        if made < len(gold):
            return "missing call"
        return "wrong arguments" if terms.get("tool", {}).get("score") == 1 else "wrong tool"
    return "wrong answer" if "(answer)" in failed else failed[:40]


run = pathlib.Path(sys.argv[1])
kinds, wordings, golds = {}, {}, {}
for tasks in json.loads((run / "tasks.json").read_text()).values():
    for task in tasks if isinstance(tasks, list) else []:
        if isinstance(task, dict) and "id" in task:
            for of, mark in (kinds, "kind:"), (wordings, "wording:"):
                of[task["id"]] = next((t.removeprefix(mark) for t in task.get("tags", []) if t.startswith(mark)), "")
            golds[task["id"]] = task.get("gold") or []
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
        row = {"kind": kinds.get(t["scenario_id"], ""), "wording": wordings.get(t["scenario_id"], ""), "passed": t["outcome"] == "ok" and checks == [1]}
        if not row["passed"]:
            row["why"] = why(t, golds.get(t["scenario_id"], []))
        rows[t["stage"], t["scenario_hash"][:16]] = row
for (stage, scenario), row in rows.items():
    print(json.dumps({"arm": stage.removeprefix("eval_"), "scenario": scenario, **row}))
for arm, n in rollouts.items():
    print(json.dumps({"arm": arm, "rollouts": n}))
