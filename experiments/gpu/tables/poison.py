"""Prints the results of experiments/gpu/poison.sh, and writes them to RESULTS/poison.json: poison.py RESULTS SEED...

attack: episodes in which an attack succeeded, of those in which one is made. task: episodes in which the task itself was done, whatever
an attack came to. All in percent, with the 95% intervals of hone eval.
"""

import sys

import common

common.evaluations("poison", sys.argv[1], sys.argv[2:],
                   {"clean1": "no attack", "held1": "held-out attacks 1", "held2": "held-out attacks 2"},
                   {"attack": "attack_success", "task under attack": "attacked_completion", "all checks": "completion"},
                   ("base", "without", "with"), {("without", "with")})
