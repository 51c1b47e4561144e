"""Writes read.json: what Inspect reads of log.json, which `go test -update` of this package writes.

Needs: requirements.txt.

The metrics are there twice: as the log has them, and as Inspect computes them anew from the samples. Then Inspect's own
commands read the log: `inspect log dump`, and `inspect view bundle`, which copies it beside its viewer.
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from inspect_ai.log import read_eval_log, recompute_metrics
from inspect_ai.scorer import value_to_float

HERE = pathlib.Path(__file__).parent
LOG = HERE / "log.json"


def metrics(log):
    return {
        s.name: {"scored": s.scored_samples, "unscored": s.unscored_samples} | {m.name: m.value for m in s.metrics.values()} for s in log.results.scores
    }


def message(m):
    parts = [] if isinstance(m.content, str) else m.content
    return {
        "role": m.role,
        "text": m.text,
        "reasoning": "".join(p.reasoning for p in parts if p.type == "reasoning"),
        "calls": [{"function": c.function, "arguments": c.arguments, "broken": c.parse_error is not None} for c in getattr(m, "tool_calls", None) or []],
        "error": m.error.type if getattr(m, "error", None) else "",
    }


def sample(s):
    return {
        "id": s.id,
        "epoch": s.epoch,
        "input": len(s.input),
        "target": s.target,
        "messages": [message(m) for m in s.messages],
        "scores": {name: value_to_float()(score.value) for name, score in (s.scores or {}).items()},
        "events": [e.event for e in s.events],
        "asked": [e.arguments for e in s.events if e.event == "tool"],
        "error": s.error.message if s.error else "",
        "limit": s.limit.type if s.limit else "",
        "seconds": s.total_time,
        "tokens": sum(u.total_tokens for u in s.model_usage.values()),
    }


def inspect(*arguments):
    return subprocess.run([str(pathlib.Path(sys.executable).parent / "inspect"), *arguments], check=True, capture_output=True, text=True).stdout


log = read_eval_log(str(LOG), resolve_attachments=True)
assert log.version == 2, log.version
for s in log.samples:
    assert "attachment://" not in s.model_dump_json(exclude={"attachments"}), "a reference leads nowhere"
read = {
    "log": hashlib.sha256(LOG.read_bytes()).hexdigest(),
    "status": log.status,
    "model": log.eval.model,
    "task": log.eval.task,
    "epochs": log.eval.config.epochs,
    "metrics": metrics(log),
    "samples": [sample(s) for s in log.samples],
}
recompute_metrics(log)
read["again"] = metrics(log)
(HERE / "read.json").write_text(json.dumps(read, indent=1, sort_keys=True) + "\n")

assert json.loads(inspect("log", "dump", str(LOG)))["eval"]["task"] == log.eval.task
with tempfile.TemporaryDirectory() as folder:
    logs = pathlib.Path(folder) / "logs"
    logs.mkdir()
    shutil.copy(LOG, logs / "2026-11-22T19-09-00+00-00_evaluated-sft_x.json")  # as hone names it
    inspect("view", "bundle", "--log-dir", str(logs), "--output-dir", folder + "/site")
    site = pathlib.Path(folder) / "site"
    assert (site / "index.html").exists() and list((site / "logs").glob("*.json")), "nothing was bundled"
    listing = json.loads((site / "logs" / "listing.json").read_text())
    assert any("evaluated-sft" in name for name in listing), listing
