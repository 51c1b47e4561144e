#!/usr/bin/env bash
# Measures training on one GPU and on several, side by side: experiments/gpu/scaling.sh BENCH RESULTS [DEVICES] [ROWS]
# BENCH is the program of experiments/gpu/bench (or that, packed by xz); RESULTS gets devices-1.json and devices-DEVICES.json. It needs
# jax's CUDA plug-in, with NCCL, in python3's environment. Training steps are the same on both sides, of 4 x DEVICES texts,
# so loss and gradient must be too; decoding is of 64 sequences on each GPU. Exit code 1: the sides differ, or training
# is less than 0.95 x DEVICES as fast.
set -euo pipefail
if [ $# -lt 2 ] || [ "$1" = --help ]; then
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
bench=$1 results=$(realpath -m "$2") devices=${3-2}
rows=${4-train:$((4 * devices)),tree,decode:1024}
mkdir -p "$results"
. "$here/env.sh"
export NCCL_NVLS_ENABLE=${NCCL_NVLS_ENABLE:-0} # multicast over NVLink can put GPUs that others share out of service
for n in 1 "$devices"; do
  "$bench" -plugin "$plugin" -devices "$n" -rows "$rows" | tee "$results/devices-$n.json" | cut -c1-400
done
python3 "$here/bench/scaling.py" "$results" "$devices"
