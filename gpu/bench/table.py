"""Prints the rows of hone.json beside those of peer.json, and the bounds that they have: table.py FOLDER"""
import json, pathlib, sys

folder = pathlib.Path(sys.argv[1])


def read(name):
    path = folder / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# Bytes that one decoding step must read at this shape (weights, and 147,456 B of cache for each of 64 x T tokens), and
# floating-point operations that a training token takes (twice the weights forward, twice backward, causal attention).
WEIGHTS, CACHE = 8.044e9, 147456
bars = {"train": 680, "decode:4096": 13.9, "decode:2048": 8.2, "decode:1024": 5.3, "decode_shared:1024": 8.0}
peers = {}
for r in read("peer.json"):
    if r.get("ms"):
        key = "train" if r["row"].startswith("train") else r["row"].split(":ckpt")[0]
        peers[key] = min(peers.get(key, 1e9), r["ms"])
peers["tree"] = peers.get("unshared", 0)
print("| row | hone ms | least | bar ms | bar / hone | fastest peer ms | peer / hone | roofline |")
print("|---|---|---|---|---|---|---|---|")
for r in read("hone.json"):
    name, ms = r["row"], r["ms"]
    if r.get("error") or not ms:
        print(f"| {name} | {r.get('error', '')[:200]} {json.dumps(r.get('more', {}))} |")
        continue
    roof = ""
    if name.startswith("decode:"):
        roof = f"{(WEIGHTS + CACHE * 64 * int(name[7:])) / ms * 1e3 / 4.8e12:.0%} of 4.8 TB/s"
    if name == "train":
        roof = f"{20.1e9 * 16384 / ms * 1e3 / 989e12:.0%} of 989 TFLOP/s"
    bar, peer = bars.get(name), peers.get(name)
    print(f"| {name} | {ms:.2f} | {r['least_ms']:.2f} | {bar or ''} | {bar / ms if bar else 0:.2f} | {peer or 0:.1f} | {(peer or 0) / ms:.2f} | {roof} |")
for r in read("peer.json"):
    print(f"peer {r['row']}: {r.get('ms', 0):.1f} ms {json.dumps(r['more'])}")
