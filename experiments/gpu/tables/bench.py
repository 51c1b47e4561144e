"""Prints a line for each row of hone.json and of peer.json, with the bars that it has: bench.py FOLDER

MFU is the row's operations (experiments/gpu/bench/work.go counts them) in its time over 989 TFLOP/s of bfloat16; "of memory" is the bytes it must
read in its time over the GPU's bandwidth. Bars are those of an H200: on another GPU they are printed and not judged.
"""
import json, pathlib, sys

import common

folder = pathlib.Path(sys.argv[1])
PEAK, BANDWIDTH = 989e12, {"H200": 4.8e12, "H100": 3.35e12}
MOST_MS = {"train": 680, "decode:4096": 13.9, "decode:2048": 8.2, "decode:1024": 5.3, "decode_shared:1024": 8.0, "chunks": 30,
           "startup": 60e3, "startup:cached": 25e3}
LEAST_MFU = {"prefill": 0.55, "train_long": 0.45}


def read(name):
    rows = {}
    for r in common.rows(folder / name):
        r["error"] = r.get("error") or r.get("more", {}).get("error", "")
        rows[r["row"]] = r
    return rows


gpu = (folder / "gpu.txt").read_text().strip() if (folder / "gpu.txt").exists() else "an unknown GPU"
bandwidth = next((b for name, b in BANDWIDTH.items() if name in gpu), 0)
hone, peer = read("hone.json"), read("peer.json")


def split(name):
    row, _, shape = name.partition("@")
    return row, shape or "4B"


def fastest(name):
    """The time and name of the fastest of the peer's rows that stand beside one of ours: its settings follow our row's name."""
    row, shape = split(name)
    row = {"tree": "unshared"}.get(row, row)
    return min(((r["ms"], other) for other, r in peer.items()
                if r.get("ms") and (split(other)[0] + ":").startswith(row + ":") and split(other)[1] == shape), default=(0, ""))


def bars(name, r, mfu):
    """What a row is held to: (label, value, bar, whether it is met)."""
    row, shape = split(name)
    kind, ms, best = row.split(":")[0], r["ms"], fastest(name)[0]
    if shape == "4B" and row in MOST_MS:
        yield "stall ms" if row == "chunks" else "ms", ms, MOST_MS[row], ms <= MOST_MS[row]
    if kind in LEAST_MFU:
        yield "MFU", mfu, LEAST_MFU[kind], mfu >= LEAST_MFU[kind]
    factors = []
    if row == "train":
        factors = [("x ckpt", peer.get(name.replace("train", "train:ckpt"), {}).get("ms"), 3 if shape == "4B" else 2.5)]
        factors += [("x fastest", best, 2)] if shape == "4B" else []
    if row == "tree":
        factors = [("x own unshared", hone.get(name.replace("tree", "unshared"), {}).get("ms"), 4.5), ("x peer", best, 12)]
    for label, other, factor in factors:
        if other:
            yield label, other / ms, factor, other / ms >= factor


print(f"{gpu}\n| row | ms (least) | roofline | bars: value/bar | fastest peer ms |\n|---|---|---|---|---|")
for name, r in hone.items():
    ms = r["ms"]
    if r["error"]:
        print(f"| {name} | {r['error'][:300]} |")
        continue
    mfu = r.get("flop", 0) * 1e3 / ms / PEAK if ms else 0
    roof = f"{mfu:.0%} MFU" if mfu else f"{r['bytes'] / ms * 1e3 / bandwidth:.0%} of memory" if r.get("bytes") and bandwidth else ""
    judged = "; ".join(f"{label} {value:.3g}/{bar:g}" + ((" ok" if ok else " NO") if "H200" in gpu else "")
                       for label, value, bar, ok in bars(name, r, mfu))
    other, which = fastest(name)
    beside = f"{which} {other:.1f}: {other / ms:.2f}x" if other and ms else ""
    more = "" if other or r.get("flop") or r.get("bytes") else " ".join(f"{k} {v:.3g}" for k, v in r.get("more", {}).items())
    print(f"| {name} | {ms:.4g} ({r['least_ms']:.4g}) | {roof} | {judged} | {beside}{more} |")
for name, r in peer.items():
    print(f"peer {name}: " + (r["error"][:300] if r["error"] else f"{r['ms']:.1f} ms {json.dumps(r['more'])}"))
