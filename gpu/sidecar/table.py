"""The copy metric of gpu/sidecar.sh's runs, from their metrics: python table.py RESULTS"""

import json
import os
import sys

for run in ("sft", "copy", "grpo"):
    path = f"{sys.argv[1]}/{run}/metrics.jsonl"
    if not os.path.exists(path):
        continue
    rows = [json.loads(line) for line in open(path)]
    rows = [r for r in rows if "copies/equal" in (r.get("metrics") or r)]
    print(f"\n{run}: step, loss, drafts that need a change, said again, over 90% of the tokens, mended")
    for r in rows[:: max(1, len(rows) // 8)] + rows[-1:]:
        m = r.get("metrics") or r
        print(f"  {r.get('stage', '')} {r.get('step', '')}: {m.get('loss', 0):.3f} {m['copies/rows']:.0f} {m['copies/equal']:.2f} {m['copies/near']:.2f} {m['copies/fixed']:.2f}")
