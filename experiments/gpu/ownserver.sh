#!/usr/bin/env bash
# Measures hone on a server of one's own without one task written by hand for training: synthesised tasks of a calculator from npm,
# SFT of SmolLM2-135M on them, then GRPO. The test are 54 tasks that a person wrote before any was synthesised (ownserver/tasks.jsonl).
#   experiments/gpu/ownserver.sh prepare DATA              installs the server, makes tasks and demonstrations; no model, no GPU
#   experiments/gpu/ownserver.sh run DATA RESULTS SEED...  trains and measures for each seed, and prints one table
# run goes on where it was, and waits at most $WAIT seconds (500): call it again to go on waiting. Both need $HONE (hone) and node.
# prepare: $N tasks (400). run: $BACKEND (cuda), $EPOCHS (3), $STEPS of GRPO (16), $LIMIT demonstrations (all), $TESTS tasks (all).
# All seeds run at once unless $TURNS is set.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/seeds.sh"
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}
[ $# -ge 2 ] && [ "$1" != --help ] || usage
hone=${HONE:-hone}

# settings FOLDER SERVER: the configuration, and the entry of the server.
settings() {
  mkdir -p "$1"
  cat >"$1/hone.yaml" <<YAML
model: {base: SmolLM2-135M-Instruct, context: 1024}
rollout: {max_turns: 4, max_tokens: 64, max_tool_calls: 4, max_result: 160}
engine: {backend: ${BACKEND:-cuda}}
mcp: {sandbox: {mode: ${SANDBOX:-"off"}}}
sft: {epochs: ${EPOCHS:-3}, batch_size: 8, optimizer: {learning_rate: 1e-3}}
grpo: {steps: ${STEPS:-16}, scenarios_per_step: ${SCENARIOS:-8}, group_size: ${GROUP:-8}, checkpoint_every: 100}
eval: {every: 0}
YAML
  printf '{"mcpServers": {"calculator": {"command": "node", "args": ["%s"], "isolation": "shared"}}}\n' \
    "$2/node_modules/@wrtnlabs/calculator-mcp/bin/index.js" >"$1/mcp.json"
}

prepare() {
  local data=$1
  BACKEND=cpu SANDBOX=auto settings "$data" "$data/server"
  local h="$hone --config $data/hone.yaml -q --yes"
  npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$data/server" @wrtnlabs/calculator-mcp@0.2.1
  $h synth --mcp-config "$data/mcp.json" -n "${N:-400}" --out "$data/made.json" >"$data/made.txt"
  rm -rf "$data/shown"
  $h collect --gold --mcp-config "$data/mcp.json" --dataset "$data/made.json" --split train --output-dir "$data/shown"
  cp "$data/shown/trajectories.jsonl" "$data/demonstrations.jsonl"
  cp "$data/shown/catalog.json" "$data/catalog.json"
  rm -rf "$data/shown"
  $h scenarios validate --mcp-config "$data/mcp.json" "$here/ownserver/tasks.jsonl"
}

# one SEED: trains and measures. $data and $results are the caller's.
one() {
  local out="$results/$1" h="$hone --config $data/run/hone.yaml --seed $1 -q --yes"
  if [ ! -e "$out/sft/final/adapter_model.safetensors" ]; then
    rm -rf "$out/sft"
    head -n "${LIMIT:-1000000}" "$data/demonstrations.jsonl" >"$out/rows.jsonl"
    $h sft --data "$out/rows.jsonl" --catalog "$data/catalog.json" --output-dir "$out/sft"
  fi
  if [ ! -e "$out/grpo/final/adapter_model.safetensors" ]; then
    rm -rf "$out/grpo"
    whole $h train --adapter "$out/sft/final" --mcp-config "$data/run/mcp.json" --dataset "$data/made.json" --output-dir "$out/grpo"
  fi
  for set in hand made; do
    [ -e "$out/eval-$set.json" ] && continue
    rm -rf "$out/eval-$set"
    if [ $set = hand ]; then
      head -n "${TESTS:-1000000}" "$here/ownserver/tasks.jsonl" >"$out/$set.jsonl"
    else
      python3 -c 'import json, sys; [print(json.dumps(r)) for r in [r for r in json.load(open(sys.argv[1])) if r["split"] == "test"][: int(sys.argv[2])]]' \
        "$data/made.json" "${TESTS:-60}" >"$out/$set.jsonl"
    fi
    whole $h --json eval --compare "base,$out/sft/final,$out/grpo/final" --dataset "$out/$set.jsonl" --split test \
      --mcp-config "$data/run/mcp.json" --output-dir "$out/eval-$set" >"$out/eval-$set.part"
    mv "$out/eval-$set.part" "$out/eval-$set.json"
  done
}

case $1 in
prepare)
  [ $# = 2 ] || usage
  mkdir -p "$2"
  prepare "$(realpath "$2")"
  ;;
one) # of run, for one seed
  data=$OWN_DATA results=$OWN_RESULTS
  one "$2"
  ;;
run)
  [ $# -ge 4 ] || usage
  data=$(realpath "$2") results=$(realpath -m "$3")
  shift 3
  settings "$data/run" "$data/server"
  export OWN_DATA=$data OWN_RESULTS=$results
  launch "$here/ownserver.sh" "$results" eval-made.json "$@"
  python3 "$here/tables/ownserver.py" "$results" "$@"
  ;;
*) usage ;;
esac
