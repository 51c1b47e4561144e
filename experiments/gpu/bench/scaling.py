"""Prints tokens/s on one device beside those on several: scaling.py FOLDER DEVICES; exit code 1 as experiments/gpu/scaling.sh says."""
import json, pathlib, sys

folder, devices = pathlib.Path(sys.argv[1]), int(sys.argv[2])
APART = 0.02  # of the larger: sums in another order, in bfloat16


def read(n):
    return {r["row"]: r for r in map(json.loads, (folder / f"devices-{n}.json").read_text().splitlines())}


one, many, failed = read(1), read(devices), False
print(f"| row | tokens/s on 1 | tokens/s on {devices} | factor | loss | norm of the gradient |")
print("|---|---|---|---|---|---|")
for name, a in one.items():
    b = many[name]
    if a.get("error") or b.get("error"):
        print(f"| {name} | {a.get('error', '')[:200]} | {b.get('error', '')[:200]} |")
        failed = True
        continue
    a, b = a["more"], b["more"]
    factor, notes = b["tokens_per_s"] / a["tokens_per_s"], []
    for key in ("loss", "gradient_norm"):
        x, y = a.get(key), b.get(key)
        notes.append("" if x is None else f"{x:.5g} / {y:.5g}")
        if x is not None and abs(x - y) > APART * max(abs(x), abs(y)):
            notes[-1], failed = notes[-1] + " differ", True
    if name.startswith("train") and factor < 0.95 * devices:
        notes.append(f"below {0.95 * devices:.2f}")
        failed = True
    print(f"| {name} | {a['tokens_per_s']:.0f} | {b['tokens_per_s']:.0f} | {factor:.2f} | {' | '.join(notes)} |")
sys.exit(failed)
