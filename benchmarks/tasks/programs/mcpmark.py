#!/usr/bin/env python3
"""Scores an episode by the verify.py of one MCPMark task: 1 where it ends with exit status 0, else 0.

Usage: mcpmark.py FOLDER, of the task, beside this file. The episode's own folder is $HONE_EPISODE_DIR; stdin is not looked at.
A verify.py that lacks a module, or is no Python, says nothing about the episode: then there is no score, but an error.
"""

import os
import pathlib
import subprocess
import sys


def main():
    here = pathlib.Path(__file__).resolve().parent
    folder = os.environ.get("HONE_EPISODE_DIR")
    if not folder:
        sys.exit("the episode has no folder of its own")
    env = {**os.environ, "FILESYSTEM_TEST_DIR": folder, "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, str(here / sys.argv[1] / "verify.py")], env=env, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode < 0 or any(f"\n{kind}" in "\n" + done.stderr for kind in ("ModuleNotFoundError:", "ImportError:", "SyntaxError:", "IndentationError:")):
        sys.exit(f"verify.py could not be run: {done.stderr.strip()[-2000:]}")
    print(1 if done.returncode == 0 else 0)


if __name__ == "__main__":
    main()
