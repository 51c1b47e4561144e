"""The table of the workshop: success by the number of curated traces, table.py RESULTS.json SIZE..."""

import json
import sys

results = json.load(open(sys.argv[1]))
print("| traces | whole episode | first call | gain over the base, points |\n|---|---|---|---|")
rate = lambda mean, low, high: f"{100 * mean:.1f}% [{100 * low:.1f}, {100 * high:.1f}]"
gains = {d["new"]: d["episode"] for d in results["deltas"] if d["old"] == "base"}
names = ["base", *[f"sft-{n}" for n in sys.argv[2:-1]], "model"]
for name, n in zip(names, ["0", *sys.argv[2:]]):
    found = [x for x in results["systems"] if x == name or x.startswith(name + "/") or x.startswith(name + "-final")]
    s, d = results["systems"][found[0]], gains.get(found[0])
    gain = f"{100 * d['mean']:+.1f} [{100 * d['low']:+.1f}, {100 * d['high']:+.1f}]" if d else ""
    print(f"| {n} | {rate(s['episode_success'], s['episode_low'], s['episode_high'])} | {rate(s['success'], s['low'], s['high'])} | {gain} |")
