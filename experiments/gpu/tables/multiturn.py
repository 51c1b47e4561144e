"""Prints what experiments/gpu/multiturn.sh has measured so far as one table: multiturn.py RESULTS"""
import pathlib, statistics, sys

import common

folder = pathlib.Path(sys.argv[1])


def read(name):
    return [r for r in common.rows(folder / name) if "row" in r]  # others are what a trainer prints


def hone():
    """The steps after the first, which compiles; that one alone where a cut left no other."""
    steps = [r["more"] | {"whole_s": r["ms"] / 1e3} for r in read("hone.json") if r["row"].startswith("multiturn step")]
    errors = [r["error"] for r in read("hone.json") if r.get("error")]
    if not steps:
        return None, "; ".join(errors) or "no step ended"
    counted = steps[1:] or steps
    middle = {key: statistics.median(s[key] for s in counted) for key in steps[0]}
    return middle, f"{len(counted)} steps" + ("" if steps[1:] else ", which compiled")


def peer(name):
    rows = read("peer.json")
    step = next((r for r in rows if r["row"] == name + " step"), None)
    micros = [r for r in rows if r["row"] == name + " micro-batch"]
    sampled = next((r for r in rows if r["row"] == name + " sampling"), None)
    if step and not step["more"].get("error"):
        more = step["more"]
        note = f"micro-batches of {more['rows']} rows"
        if name == "liger":
            return None, step["seconds"], note + f": the median of {more['micros']}, times as many as 64 rows have"
        return more["sampling_s"], more["training_s"], note
    why = step["more"]["error"] if step else "cut off" if rows else "nothing was measured"
    training = None
    if micros:
        of = micros[0]["more"]["all_rows"] / micros[0]["more"]["rows"]
        training = statistics.median(m["seconds"] for m in micros) * of
        why += f"; training by {len(micros)} of {of:.0f} micro-batches"
    return sampled and sampled["seconds"], training, why


def seconds(x):
    return "" if x is None else f"{x:.2f}"


def ratio(x, own):
    return "" if x is None or not own else f"{x / own:.1f}"


gpu = folder / "gpu.txt"
print(gpu.read_text().strip() if gpu.exists() else "an unknown device")
ours, note = hone()
print("| side | sampling s | training s | whole s | x sampling | x training | x whole | |\n|---|---|---|---|---|---|---|---|")
whole = None
if ours:
    whole = ours["whole_s"]
    print(f"| hone | {ours['sampling_s']:.2f} | {ours['training_s']:.2f} | {whole:.2f} | 1 | 1 | 1 | {note} |")
else:
    print(f"| hone | | | | | | | {note[:300]} |")
    ours = {"sampling_s": None, "training_s": None}
for name, title in (("trl", "TRL, transformers' generate"), ("liger", "TRL with Liger's kernels, training alone")):
    s, t, note = peer(name)
    both = s + t if s and t else None
    print(f"| {title} | {seconds(s)} | {seconds(t)} | {seconds(both)} | {ratio(s, ours['sampling_s'])} | {ratio(t, ours['training_s'])} | {ratio(both, whole)} | {note[:300]} |")
if whole:
    print(f"hone: the GPU idles {ours['idle_between_s'] * 1e3:.1f} ms between the last token and the step, {ours['idle_sampling_s'] * 1e3:.1f} ms while no slot has work; "
          f"publishing takes {ours['publish_s'] * 1e3:.0f} ms. {ours['sampled']:.0f} tokens sampled, {ours['fed']:.0f} fed; a step computes {ours['computed']:.0f} tokens "
          f"behind a prefix of {ours['prefix']:.0f}, {ours['padded']:.0f} of padding. Mismatch {ours['mismatch']:.2g} nats.")
