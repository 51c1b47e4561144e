"""Prints the results of experiments/gpu/ownserver.sh, and writes them to RESULTS/ownserver.json: ownserver.py RESULTS SEED...

All in percent, with the 95% intervals of hone eval. call: the first call is the gold one. task: all checks hold.
"""

import sys

import common

common.evaluations("ownserver", sys.argv[1], sys.argv[2:], {"hand": "written by hand", "made": "synthesised, held out"},
                   {"call": "first_call", "task": "completion"}, ("base", "sft", "grpo"))
