#!/usr/bin/env python3
"""Scores an episode by the evaluation/main.py of one Toolathlon task: 1 where it ends with exit status 0, else 0.

Usage: toolathlon.py FOLDER, of the task, beside this file. The episode's own folder is $HONE_EPISODE_DIR; its trajectory, JSON on
stdin, is handed on as the log file. A program that lacks a module, or is no Python, says nothing about the episode: then there is
no score, but an error.
"""

import datetime
import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    here = pathlib.Path(__file__).resolve().parent
    task = here / sys.argv[1]
    folder = os.environ.get("HONE_EPISODE_DIR")
    if not folder:
        sys.exit("the episode has no folder of its own")
    with tempfile.TemporaryDirectory() as scratch:
        log = pathlib.Path(scratch, "trajectory.json")
        log.write_bytes(sys.stdin.buffer.read())
        launched = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S %A")
        command = [sys.executable, str(task / "evaluation" / "main.py"), "--agent_workspace", folder, "--groundtruth_workspace", str(task / "groundtruth_workspace"),
                   "--res_log_file", str(log), "--launch_time", launched]
        env = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, env=env, cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode < 0 or any(f"\n{kind}" in "\n" + done.stderr for kind in ("ModuleNotFoundError:", "ImportError:", "SyntaxError:", "IndentationError:")):
        sys.exit(f"evaluation/main.py could not be run: {done.stderr.strip()[-2000:]}")
    print(1 if done.returncode == 0 else 0)


if __name__ == "__main__":
    main()
