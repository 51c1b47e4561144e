"""The copy metric of experiments/gpu/sidecar.sh's runs, from their metrics: sidecar.py RESULTS"""

import sys

import common

for run in ("sft", "copy", "grpo"):
    rows = [r for r in common.rows(f"{sys.argv[1]}/{run}/metrics.jsonl") if "copies/equal" in (r.get("metrics") or r)]
    if not rows:
        continue
    print(f"\n{run}: step, loss, drafts that need a change, said again, over 90% of the tokens, mended")
    for r in rows[:: max(1, len(rows) // 8)] + rows[-1:]:
        m = r.get("metrics") or r
        print(f"  {r.get('stage', '')} {r.get('step', '')}: {m.get('loss', 0):.3f} {m['copies/rows']:.0f} {m['copies/equal']:.2f} {m['copies/near']:.2f} {m['copies/fixed']:.2f}")
