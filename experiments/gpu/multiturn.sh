#!/usr/bin/env bash
# Measures a whole step of GRPO with episodes of several turns on one GPU, at Qwen3-4B's shape with random weights, beside TRL's: 8 tasks x 8
# episodes behind 4,000 tokens of system prompt, 3 turns of 171 sampled tokens each with results of 100 between them, then one optimiser
# step of LoRA r 16 over all 64 rows, in bf16.
#   experiments/gpu/multiturn.sh prepare FOLDER        builds FOLDER/bench.xz (9 MB) and fetches FOLDER/wheels (4 MB); tries both sides on a tiny model on the CPU
#   experiments/gpu/multiturn.sh run FOLDER RESULTS    on the GPU's machine: writes RESULTS/hone.json, RESULTS/peer.json as they come, and prints the table
# run needs jax's CUDA plug-in, torch, transformers, accelerate and pyarrow in python3's environment (experiments/gpu/env.sh). $LIMIT seconds for all (270), of
# which hone takes $HONE at most (125); $PARTS of the peer (trl,liger); $ROWS of its micro-batch (8); $FLAGS go to both. prepare tries the peer with $PEER_PYTHON
# (.venv-peer/bin/python of make parity), where that is there. vLLM does not travel: of the peer that samples with it there is the training alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}
[ $# -ge 2 ] && [ "$1" != --help ] || usage
export TRANSFORMERS_VERBOSITY=error PYTHONUNBUFFERED=1
case $1 in
prepare)
  mkdir -p "$2/wheels" "$2/toy"
  (cd "$here/../.." && GOEXPERIMENT=simd go build -trimpath -ldflags="-s -w" -o "$(realpath "$2")/bench" ./experiments/gpu/bench)
  python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.12 --implementation cp --platform manylinux_2_17_x86_64 --platform manylinux_2_28_x86_64 \
    -d "$2/wheels" trl==1.16.0 datasets==5.2.0 dill==0.4.1 multiprocess==0.70.19 jmespath liger-kernel==0.8.5 peft==0.21.2
  "$2/bench" ${PLUGIN:+-plugin "$PLUGIN"} -toy -dtype f32 -repeat 2 -rows multiturn >"$2/toy/hone.json"
  peer=${PEER_PYTHON:-$here/../../.venv-peer/bin/python}
  rm -f "$2/toy/peer.json"
  if [ -x "$peer" ]; then
    "$peer" -W ignore "$here/multiturn/peer.py" --toy >"$2/toy/peer.json"
  fi
  python3 "$here/tables/multiturn.py" "$2/toy"
  python3 -c 'import lzma, sys; lzma.open(sys.argv[1] + ".xz", "wb", preset=6).write(open(sys.argv[1], "rb").read())' "$2/bench"
  rm -r "$2/bench" "$2/toy"
  du -ch "$2"/bench.xz "$2"/wheels | tail -1
  ;;
run)
  [ $# -eq 3 ] || usage
  end=$((SECONDS + ${LIMIT:-270}))
  mkdir -p "$3"
  folder=$(realpath "$2") results=$(realpath "$3")
  bench=$folder/bench.xz
  # As experiments/gpu/unpack.sh has them: to search for each product's best kernel takes minutes.
  export XLA_FLAGS="--xla_gpu_enable_triton_gemm=false --xla_gpu_autotune_level=0 ${XLA_FLAGS:-}"
  : >"$results/hone.json"
  : >"$results/peer.json"
  packages=$(mktemp -d)
  (python3 -m pip install -q --no-index --no-deps --no-compile --target "$packages" "$folder"/wheels/*.whl &&
    PYTHONPATH=$packages timeout 60 python3 -W ignore -c "import trl.trainer.grpo_trainer" || true) >"$results/pip.log" 2>&1 & # read while hone compiles
  installing=$!
  . "$here/env.sh" >"$results/gpu.txt"
  timeout -k 5 "${HONE:-125}" "$bench" -plugin "$plugin" ${FLAGS-} -rows multiturn >"$results/hone.json" 2>"$results/hone.log" ||
    echo "hone ended with $? (124: its time was up): $(tail -1 "$results/hone.log")"
  wait "$installing"
  left=$((end - SECONDS))
  unset XLA_FLAGS
  PYTHONPATH=$packages PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True timeout -k 5 $((left > 1 ? left : 1)) \
    python3 -W ignore "$here/multiturn/peer.py" ${FLAGS-} --parts "${PARTS:-trl,liger}" --rows "${ROWS:-8}" >"$results/peer.json" 2>"$results/peer.log" ||
    echo "the peer ended with $? (124: its time was up): $(tail -1 "$results/peer.log")"
  python3 "$here/tables/multiturn.py" "$results" | tee "$results/table.md"
  ;;
*) usage ;;
esac
