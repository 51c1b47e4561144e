"""Writes quants.json: blocks of each type that tensors of GGUF files are stored in, and the numbers that llama.cpp's own
Python package reads from them.

Usage: python make_quants.py
Needs: testdata/reference/requirements.txt.

The bytes are random, so that each bit counts, but for the half-precision scales, which are kept finite and small.
"""

import base64
import json
import pathlib

import gguf
import numpy

OUT = pathlib.Path(__file__).parent / "quants.json"
BLOCKS = 3
# Where the scales of a block stand, in bytes.
HALVES = {"F16": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2],
          "Q5_K": [0, 2], "Q6_K": [208]}
PLAIN = {"F32": "<f4", "BF16": "<u2"}


def main():
    random, out = numpy.random.default_rng(1), {}
    for name in [*PLAIN, *HALVES]:
        kind = gguf.GGMLQuantizationType[name]
        numbers, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = BLOCKS * (32 if numbers == 1 else 1)
        raw = random.integers(0, 256, (blocks, size), dtype=numpy.uint8)
        if name in PLAIN:
            x = random.standard_normal(blocks).astype("<f4")
            raw = x.view(numpy.uint8).reshape(blocks, 4)[:, 4 - size:].copy()
        for at in HALVES.get(name, []):
            raw[:, at:at + 2] = (random.standard_normal(blocks) / 8).astype("<f2").view(numpy.uint8).reshape(blocks, 2)
        want = gguf.quants.dequantize(raw.reshape(-1) if numbers == 1 else raw, kind).astype("<f4").reshape(-1)
        assert numpy.isfinite(want).all() and len(want) == blocks * numbers
        out[name] = {"type": int(kind), "raw": base64.b64encode(raw.tobytes()).decode(), "numbers": base64.b64encode(want.tobytes()).decode()}
    OUT.write_text(json.dumps(out, indent=1) + "\n")


main()
