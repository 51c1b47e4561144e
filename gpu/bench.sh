#!/usr/bin/env bash
# Measures the engine and its peer on one GPU and prints one table: gpu/bench.sh BENCH RESULTS [ROWS] [PEER_ROWS]
# BENCH is the program of gpu/bench (or that, packed by xz); RESULTS gets hone.json and peer.json. An empty list of rows
# leaves that side out. It needs jax's CUDA plug-in, torch, transformers and peft in python3's environment.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bench=$1 results=$(realpath -m "$2")
rows=${3-check,decode:1024,decode:2048,decode:4096,train,tree,unshared}
peer=${4-train:ckpt,train:plain,decode:1024,decode:2048,decode:4096,unshared:ckpt}
mkdir -p "$results"
venv=${VIRTUAL_ENV:-$(python3 -c 'import sys; print(sys.prefix)')}
site=$(echo "$venv"/lib/python3*/site-packages)
if [[ $bench == *.xz ]]; then
  python3 -c "import lzma,shutil,sys; shutil.copyfileobj(lzma.open(sys.argv[1]), open(sys.argv[2],'wb'))" "$bench" "$results/../bench"
  bench=$(realpath "$results/../bench")
  chmod +x "$bench"
fi
# jax's CUDA plug-in looks for NVIDIA's libraries on the loader's path, and XLA for its device library.
export LD_LIBRARY_PATH=$(ls -d "$site"/nvidia/*/lib 2>/dev/null | tr "\n" ":" || true)${LD_LIBRARY_PATH:-}
cuda=$(ls -d "$site"/nvidia/cu13 "$site"/nvidia/cuda_nvcc /usr/local/cuda 2>/dev/null | head -1 || true)
export XLA_FLAGS="--xla_gpu_cuda_data_dir=$cuda ${XLA_FLAGS:-}"
plugin=$(ls "$site"/jax_plugins/xla_cuda*/xla_cuda_plugin.so | head -1)
nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader
if [ -n "$rows" ]; then "$bench" -plugin "$plugin" -rows "$rows" | tee "$results/hone.json" | cut -c1-400; fi
if [ -n "$peer" ]; then PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python3 "$here/bench/peer.py" --rows "$peer" | tee "$results/peer.json"; fi
python3 "$here/bench/table.py" "$results"
