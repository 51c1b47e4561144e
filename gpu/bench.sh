#!/usr/bin/env bash
# Measures the engine and its peer on one GPU and prints one table: gpu/bench.sh BENCH RESULTS [ROWS] [PEER_ROWS]
# BENCH is the program of gpu/bench (or that, packed by xz); RESULTS gets hone.json and peer.json. An empty list of rows
# leaves that side out. It needs jax's CUDA plug-in, torch, transformers and peft in python3's environment.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bench=$1 results=$(realpath -m "$2")
rows=${3-check,decode:1024,decode:2048,decode:4096,decode_single:4096,decode_shared:1024,train,tree,unshared}
peer=${4-train:ckpt,train:plain,decode:1024,decode:2048,decode:4096,unshared:ckpt}
mkdir -p "$results"
. "$here/env.sh"
if [ -n "$rows" ]; then "$bench" -plugin "$plugin" -rows "$rows" | tee "$results/hone.json" | cut -c1-400; fi
if [ -n "$peer" ]; then PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python3 "$here/bench/peer.py" --rows "$peer" | tee "$results/peer.json"; fi
python3 "$here/bench/table.py" "$results"
