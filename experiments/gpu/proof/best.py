"""Prints the trial with the highest mean of whole episodes on validation tasks, the first named at equal rates. Usage: best.py RESULTS TRIAL...

The mean is over the seeds that all have; what failed with every seed is not chosen, but where all did, the first named is. While one of the trials runs, or has
not begun, the exit status is 1.
"""

import json
import pathlib
import statistics
import sys

results, trials = pathlib.Path(sys.argv[1]), sys.argv[2:]
rates = {}
for trial in trials:
    rates[trial] = {}
    logs = list((results / trial).glob("*.log"))
    if not logs:
        sys.exit(1)
    for log in logs:
        done = log.with_suffix(".json")
        if done.exists():
            systems = json.loads(done.read_text().strip().splitlines()[-1])["systems"]
            (rate,) = (s["episode_success"] for name, s in systems.items() if name not in ("base", "start"))
            rates[trial][log.stem.rsplit("-", 1)[1]] = rate
        elif "exit code" not in log.read_text():
            sys.exit(1)
done = {trial: rate for trial, rate in rates.items() if rate} or {trials[0]: {"": 0}}
seeds = set.intersection(*(set(r) for r in done.values()))
print(max(done, key=lambda t: statistics.mean(r for s, r in done[t].items() if s in seeds or not seeds)))
