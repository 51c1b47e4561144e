"""Reads golden.tfevents with TensorBoard and compares what it has with golden.json.
Needs: internal/run/metrics/testdata/tfevents/requirements.txt
"""

import json
import pathlib
import shutil
import tempfile

import numpy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

HERE = pathlib.Path(__file__).parent
events = EventAccumulator(str(HERE / "golden.tfevents"), size_guidance={"scalars": 0})
events.Reload()
want = {}
for row in json.loads((HERE / "golden.json").read_text()):
    for name, x in row["values"].items():
        prefix = {"grpo": "train", "validation": "eval"}.get(row["stage"], row["stage"])
        if prefix == "eval":
            name = name.removeprefix("eval_")
        want.setdefault(f"{prefix}/{name}", []).append((1_700_000_000.25 + row["seconds"], row["step"], float(numpy.float32(x))))


def scalars(events):
    return {tag: [(e.wall_time, e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


assert scalars(events) == want, (scalars(events), want)
with tempfile.TemporaryDirectory() as folder:  # a TensorBoard that is looking while a run goes on, and its file is written anew
    first, next_one = (f"{folder}/events.out.tfevents.1700000000.hone.00000{n}" for n in (1, 2))
    shutil.copy(HERE / "golden.tfevents", first)
    looking = EventAccumulator(folder, size_guidance={"scalars": 0})
    looking.Reload()
    assert scalars(looking) == want
    shutil.copy(HERE / "golden.tfevents", next_one)
    pathlib.Path(first).unlink()
    looking.Reload()
    assert scalars(looking) == want, scalars(looking)
print("TensorBoard reads", sum(map(len, want.values())), "scalars, also where it was looking before")
