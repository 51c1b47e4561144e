# What hone runs in the user's own Python, where wandb is installed. Lines of JSON come on stdin, each is answered by one on stdout:
#   {"init": {...arguments of wandb.init...}, "axes": {"train/*": "train/global_step"}}  ->  {"id": "..."}
#   {"rows": [{...}, ...]}                                                               ->  {"rows": N}
#   {"exit": 0}                                                                          ->  {"exit": 0}
import json
import os
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_IGN)  # hone says when it is over
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what is printed is talk


def answer(message):
    answers.write(json.dumps(message) + "\n")
    answers.flush()


opening = json.loads(sys.stdin.readline())
import wandb  # noqa: E402

run = wandb.init(settings=wandb.Settings(console="off"), **opening["init"])
for metric, axis in opening["axes"].items():
    run.define_metric(metric, step_metric=axis)
answer({"id": run.id})
for line in sys.stdin:
    message = json.loads(line)
    if "exit" in message:
        run.finish(exit_code=message["exit"])
        answer({"exit": message["exit"]})
        break
    for row in message["rows"]:
        run.log(row)
    answer({"rows": len(message["rows"])})
