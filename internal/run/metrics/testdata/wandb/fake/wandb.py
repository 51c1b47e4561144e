"""Stands for wandb where it is not installed: writes what it is asked to do, in the form that testdata/parity.py reads of the real one's files."""
import atexit
import json
import os
import subprocess
import sys
import time

out = open(os.environ["WANDB_RECORD"], "a")


def say(**what):
    out.write(json.dumps(what, sort_keys=True) + "\n")
    out.flush()


class Settings:
    def __init__(self, console):
        assert console == "off"


class Run:
    def __init__(self, id):
        self.id = id

    def define_metric(self, name, step_metric):
        say(metric=name, axis=step_metric)

    def log(self, row):
        if "train/service" in row:  # has the pipes, as the real one's has, and lives on
            with open(os.environ["WANDB_RECORD"] + ".service", "w") as f:
                f.write(str(subprocess.Popen(["sleep", "600"]).pid))
        if "train/linger" in row:
            atexit.register(linger)
        if "train/die" in row and not os.path.exists(os.environ["WANDB_RECORD"] + ".died"):
            open(os.environ["WANDB_RECORD"] + ".died", "w").close()
            sys.exit("out of luck")
        say(row=row)

    def finish(self, exit_code):
        say(exit=exit_code)


def linger():
    open(os.environ["WANDB_RECORD"] + ".lingers", "w").close()
    time.sleep(600)


def init(settings, id=None, **arguments):
    print("talk on stdout")
    arguments.pop("dir")
    say(init=arguments, id=id)
    return Run(id or "made")
