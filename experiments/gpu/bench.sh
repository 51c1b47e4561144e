#!/usr/bin/env bash
# Measures the engine and its peer on one GPU and prints one table: experiments/gpu/bench.sh BENCH RESULTS [ROWS] [PEER_ROWS]
# BENCH is made by GOEXPERIMENT=simd go build -o BENCH ./experiments/gpu/bench (or that, packed by xz); RESULTS gets hone.json and peer.json. Rows are joined by commas; a slash
# between them begins a new process (startup must be a process's first row). An empty list of rows leaves that side out. What a side has
# measured after $LIMIT seconds (280 each) counts. $FLAGS go to both sides, $PEER_FLAGS to the peer. It needs jax's CUDA plug-in, torch,
# transformers and peft in python3's environment; experiments/gpu/wheels.sh fetches what may lack.
set -euo pipefail
if [ $# -lt 2 ] || [ "$1" = --help ]; then
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
bench=$1 results=$(realpath -m "$2")
rows=${3-startup/check,decode:1024,decode:2048,decode:4096,decode_shared:1024,train,tree,unshared}
peer=${4-train:ckpt,train:plain,decode:1024,decode:2048,decode:4096,unshared:ckpt}
limit=${LIMIT:-280}
mkdir -p "$results"
rm -f "$results"/hone.json "$results"/peer.json
. "$here/env.sh" >"$results/gpu.txt"
end=$((SECONDS + limit))
for group in ${rows//\// }; do
  # shellcheck disable=SC2086
  timeout $((end > SECONDS ? end - SECONDS : 1)) "$bench" -plugin "$plugin" ${FLAGS-} -rows "$group" >>"$results/hone.json" ||
    echo "hone ended with $? in $group (124: it ran for $limit s)"
done
if [ -n "$peer" ]; then
  # shellcheck disable=SC2086
  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True TRANSFORMERS_VERBOSITY=error timeout -k 5 "$limit" \
    python3 -W ignore "$here/bench/peer.py" ${FLAGS-} ${PEER_FLAGS-} --rows "$peer" >"$results/peer.json" ||
    echo "the peer ended with $? (124: it ran for $limit s)"
fi
python3 "$here/tables/bench.py" "$results"
