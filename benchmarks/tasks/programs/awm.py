#!/usr/bin/env python3
"""Scores an episode by the verifier of one Agent World Model task: 1 where it returns {"result": "complete"}, else 0.

Usage: awm.py VERIFIER FUNCTION DATABASE; a file with the function, and the database that the episode began with, both beside this
file. The database that it ended with has the same name in $HONE_EPISODE_DIR. The last answer is of the trajectory, JSON on stdin.
A verifier that fails says nothing about the episode: then there is no score, but an error.
"""

import inspect
import json
import os
import pathlib
import re
import shutil
import sqlite3
import sys
import tempfile


def last_answer(trajectory):
    for message in reversed(trajectory.get("messages") or []):
        if message.get("role") == "assistant":
            return message.get("content") or ""
    return ""


def main():
    here = pathlib.Path(__file__).resolve().parent
    verifier, function, began = here / sys.argv[1], sys.argv[2], here / sys.argv[3]
    folder = os.environ.get("HONE_EPISODE_DIR")
    if not folder:
        sys.exit("the episode has no folder of its own")
    trajectory = json.load(sys.stdin)
    ended = pathlib.Path(folder, began.name)
    if not ended.is_file():  # the episode's doing
        print(0)
        return
    with tempfile.TemporaryDirectory() as scratch:
        # Copies, with the journals beside them: a verifier may write, and the server may not have closed its database.
        initial, final = pathlib.Path(scratch, "initial.db"), pathlib.Path(scratch, "final.db")
        for source, target in ((began, initial), (ended, final)):
            for ending in ("", "-wal", "-journal"):
                if pathlib.Path(f"{source}{ending}").is_file():
                    shutil.copyfile(f"{source}{ending}", f"{target}{ending}")
        names = {"sqlite3": sqlite3, "json": json, "os": os, "re": re, "__name__": "verifier"}
        exec(compile(verifier.read_text(encoding="utf-8"), str(verifier), "exec"), names)
        known = {"initial_db_path": str(initial), "final_db_path": str(final), "final_answer": last_answer(trajectory)}
        wanted = inspect.signature(names[function]).parameters
        given = {name: value for name, value in known.items() if name in wanted}
        printed, sys.stdout = sys.stdout, sys.stderr  # what a verifier prints is no score
        result = names[function](**given) if given else names[function](*list(known.values())[: len(wanted)])
        sys.stdout = printed
    if not isinstance(result, dict) or "result" not in result:
        sys.exit(f"the verifier returned {result!r:.200}, which has no result")
    print(1 if result["result"] == "complete" else 0)


if __name__ == "__main__":
    main()
