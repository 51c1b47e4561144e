#!/usr/bin/env bash
# Measures attacks by poisoned servers (demo/poison) on SmolLM2-135M: the base, trained without poisoned servers, and trained with
# such servers in the mix. Training is SFT, then a few steps of GRPO. The attacks that are measured are none that training had.
#   experiments/gpu/poison.sh prepare DATA              makes the tasks and demonstrations; no model, no GPU, minutes
#   experiments/gpu/poison.sh run DATA RESULTS SEED...  trains and measures both for each seed, and prints one table
# run goes on where it was, and waits at most $WAIT seconds (500): call it again to go on waiting. Both need $HONE (hone) and node.
# prepare: $N tasks of each suite (100). run: $BACKEND (cuda), $EPOCHS (3), $STEPS of GRPO (12), $LIMIT demonstrations (all),
# $TESTS tasks of a measurement (all). All seeds run at once unless $TURNS is set.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/seeds.sh"
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}
[ $# -ge 2 ] && [ "$1" != --help ] || usage
hone=${HONE:-hone}

# settings FOLDER: the configuration, the suites and their servers.
settings() {
  mkdir -p "$1"
  cat >"$1/hone.yaml" <<YAML
model: {base: SmolLM2-135M-Instruct, context: 2048}
rollout: {max_turns: 4, max_tokens: 64, max_tool_calls: 4, max_result: 160}
engine: {backend: ${BACKEND:-cuda}}
mcp: {sandbox: {mode: ${SANDBOX:-"off"}}}
sft: {epochs: ${EPOCHS:-3}, batch_size: 8, optimizer: {learning_rate: 1e-3}}
grpo: {steps: ${STEPS:-12}, scenarios_per_step: ${SCENARIOS:-8}, group_size: ${GROUP:-8}, checkpoint_every: 100}
eval: {every: 0}
YAML
  node "$here/../../demo/poison/make.mjs" "$1/suites" "${N:-100}"
}

prepare() {
  local data=$1 suite
  BACKEND=cpu SANDBOX=auto settings "$data"
  for suite in clean1 clean2 clean3 clean4 train1 train2 train3 train4; do
    rm -rf "$data/shown/$suite"
    $hone --config "$data/hone.yaml" -q --yes collect --gold --allow-findings '*' --mcp-config "$data/suites/$suite.mcp.json" \
      --dataset "$data/suites/$suite.train.jsonl" --split train --output-dir "$data/shown/$suite"
  done
  python3 "$here/poison/arms.py" "$data"
  rm -rf "$data/shown" "$data/suites"
}

# one SEED: trains both arms, one beside the other, and measures them. $data and $results are the caller's.
one() {
  local seed=$1 out="$results/$1" h="$hone --config $data/run/hone.yaml --seed $1 -q --yes"
  arm() { # NAME SUITE
    [ -e "$out/$1/final/adapter_model.safetensors" ] && return
    rm -rf "$out/$1" "$out/$1.sft"
    head -n "${LIMIT:-1000000}" "$data/arm-$1.jsonl" >"$out/$1.jsonl"
    $h sft --data "$out/$1.jsonl" --allow-findings '*' --output-dir "$out/$1.sft"
    whole $h train --adapter "$out/$1.sft/final" --mcp-config "$data/run/suites/$2.mcp.json" --allow-findings '*' \
      --dataset "$data/run/suites/$2.train.jsonl" --output-dir "$out/$1"
  }
  arm without clean1 &
  local other=$!
  arm with train1
  wait $other
  for suite in clean1 held1 held2; do
    [ -e "$out/eval-$suite.json" ] && continue
    rm -rf "$out/eval-$suite"
    head -n "${TESTS:-1000000}" "$data/run/suites/$suite.test.jsonl" >"$out/$suite.jsonl"
    whole $h --json eval --compare "base,$out/without/final,$out/with/final" --dataset "$out/$suite.jsonl" --split test \
      --mcp-config "$data/run/suites/$suite.mcp.json" --allow-findings '*' --output-dir "$out/eval-$suite" >"$out/eval-$suite.part"
    mv "$out/eval-$suite.part" "$out/eval-$suite.json"
  done
}

case $1 in
prepare)
  [ $# = 2 ] || usage
  mkdir -p "$2"
  prepare "$(realpath "$2")"
  ;;
one) # of run, for one seed
  data=$POISON_DATA results=$POISON_RESULTS
  one "$2"
  ;;
run)
  [ $# -ge 4 ] || usage
  data=$(realpath "$2") results=$(realpath -m "$3")
  shift 3
  settings "$data/run"
  export POISON_DATA=$data POISON_RESULTS=$results
  launch "$here/poison.sh" "$results" eval-held2.json "$@"
  python3 "$here/tables/poison.py" "$results" "$@"
  ;;
*) usage ;;
esac
