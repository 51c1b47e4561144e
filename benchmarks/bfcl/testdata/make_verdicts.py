"""Writes verdicts.jsonl.bz2: questions and outputs of generate.py, each with BFCL's own verdict.

Usage: python make_verdicts.py. Needs: requirements.txt. Nothing in it is of BFCL's data.
Each line is one of hone-bench calls with "want" beside it: true, false, or the name of the exception that ends BFCL's checker.
"""

import bz2
import itertools
import json
import pathlib

from generate import Generator, directed
from real import CONVERTERS, verdict

NUM_CASES = 4000

generator = Generator(20261122)
lines = []
cases = itertools.chain(directed(), (generator.case(CONVERTERS) for _ in range(NUM_CASES)))
for case in cases:
    case = json.loads(json.dumps(case))  # as BFCL reads it: all NaN of its reader are one object
    lines.append(json.dumps(case | {"want": verdict(case)}) + "\n")
pathlib.Path(__file__).with_name("verdicts.jsonl.bz2").write_bytes(bz2.compress("".join(lines).encode()))
