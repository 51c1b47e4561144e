import argparse
import json
import pathlib
import sys

parser = argparse.ArgumentParser()
for name in ("agent_workspace", "groundtruth_workspace", "res_log_file", "launch_time"):
    parser.add_argument("--" + name, required=True)
args = parser.parse_args()
json.loads(pathlib.Path(args.res_log_file).read_text())
made = pathlib.Path(args.agent_workspace, "sorted.txt")
sys.exit(0 if made.exists() and made.read_text() == pathlib.Path(args.groundtruth_workspace, "sorted.txt").read_text() else 1)
