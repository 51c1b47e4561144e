"""Has hone's bridge log a run by the real wandb, offline, and reads the files that wandb would sync.
Needs: internal/run/metrics/testdata/wandb/requirements.txt
"""

import glob
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

from wandb.proto import wandb_internal_pb2 as pb

HERE = pathlib.Path(__file__).resolve().parent


def records(path):
    """Records of a .wandb file: a head of 7 bytes, then blocks of 32 KiB as LevelDB's log has them."""
    data = pathlib.Path(path).read_bytes()
    assert data[:4] == b":W&B", data[:8]
    at, part = 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", data[at:at + 7])
        part += data[at + 7:at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            record = pb.Record()
            record.ParseFromString(part)
            part = b""
            yield record


with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["go", "test", "-count=1", "./internal/run/metrics", "-run", "TestBridge$", "-wandb", sys.executable, "-wandb-dir", folder],
                   check=True, cwd=HERE.parents[4])
    rows, ids, axes, exits = [], set(), {}, []
    for path in sorted(glob.glob(f"{folder}/wandb/offline-run-*/*.wandb")):
        for r in records(path):
            kind = r.WhichOneof("record_type")
            if kind == "run":
                ids.add(r.run.run_id)
                assert r.run.project == "hone contract" and r.run.display_name == "run1", r.run
            elif kind == "metric" and (r.metric.glob_name or r.metric.name):
                axes[r.metric.glob_name or r.metric.name] = r.metric.step_metric
            elif kind == "history":
                row = {"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in r.history.item}
                rows.append({k: v for k, v in row.items() if not k.startswith("_")})
            elif kind == "exit":
                exits.append(r.exit.exit_code)
assert len(ids) == 1, ids
assert rows == [{"train/reward": 0.5, "train/global_step": 0}, {"train/reward": 0.625, "train/global_step": 1},
                {"eval/success": 1, "train/global_step": 2}, {"sft/loss": 1e-9, "sft/global_step": 0}], rows
assert axes.get("eval/*") == "train/global_step" and axes.get("sft/*") == "sft/global_step", axes
assert sorted(exits) == [0, 1], exits
print("wandb has each step of the run once")
