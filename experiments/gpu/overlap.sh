#!/usr/bin/env bash
# Measures what the overlap of rollouts and training saves (grpo.staleness: 1): `hone train` with and without, from one start on the same tasks, against a
# server that answers at once and against one whose answers take $DELAY seconds.
#   experiments/gpu/overlap.sh run FOLDER RESULTS    runs what is not done, two at a time on two GPUs where $GPUS names two, else one; prints the table
#   experiments/gpu/overlap.sh table RESULTS         the table of what is done, RESULTS/table.json too
# FOLDER is what experiments/gpu/unpack.sh made. $DELAY (0.3), $STEPS (30), $GROUPS_PER_STEP of $GROUP_SIZE rollouts (16, 8), $SEED (4), $GPUS ("0"), $BACKEND (cuda),
# $START flags for the start. Runs on one GPU follow each other, so that they do not share it. Success is on validation tasks, against the fast server.
# It works in FOLDER/overlap.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}

# start: merged is the model to begin with, tasks.json the tasks of all, fast.json and slow.json the two servers
start() {
  local adapter
  rm -rf runs/start merged
  printf 'engine: {backend: %s}\n' "$backend" >start.yaml
  # shellcheck disable=SC2086
  hone-learn --config start.yaml --seed "$seed" --plain --yes --sandbox off --split validation --shown-kinds 8 --arms "" --steps "$steps" --groups "$groups" \
    --output-dir runs/start ${START:-} >"$results/start.log" 2>&1
  adapter=$(ls -d runs/start/checkpoints/sft_*/adapter | sort -V | tail -1)
  hone merge --adapter "$adapter" --output-dir merged --dtype f32 -q
  python3 "$here/race/tasks.py" runs/start tasks.json fast.json
  python3 "$here/race/tasks.py" runs/start tasks.json slow.json "${DELAY:-0.3}" "$here/overlap/slow.py"
  touch merged/done
}

# one GPU NAME...: the runs of one GPU, one after the other
one() {
  local gpu=$1 name
  shift
  for name in "$@"; do
    [ ! -e "$results/$name/done" ] || continue
    rm -rf "runs/$name"
    cat >"$name.yaml" <<YAML
engine: {backend: $backend, slots: 128, row_multiple: 128}
mcp: {config: ${name%_*}.json}
model: {context: 2048}
rollout: {system: "Call a tool to get the result, then reply with the result only.", max_turns: 4, max_tokens: 64, max_tool_calls: 6, max_result: 128}
eval: {every: 0}
grpo: {steps: $steps, scenarios_per_step: $groups, group_size: ${GROUP_SIZE:-8}, staleness: ${name##*_}, advantage: centred, optimizer: {learning_rate: 1.5e-4}}
YAML
    mkdir -p "$results/$name"
    CUDA_VISIBLE_DEVICES=$gpu hone --config "$name.yaml" --seed "$seed" train --yes --sandbox off --base-model merged --dataset tasks.json --output-dir "runs/$name" \
      >"$results/$name.log" 2>&1 </dev/null && touch "$results/$name/done" || echo "exit code $?" >>"$results/$name.log"
    cp "runs/$name/metrics.jsonl" "$results/$name/" || true
  done
}

case ${1:-} in
table) python3 "$here/tables/overlap.py" "$2" ;;
run)
  [ $# = 3 ] || usage
  results=$(realpath -m "$3") backend=${BACKEND:-cuda} steps=${STEPS:-30} groups=${GROUPS_PER_STEP:-16} seed=${SEED:-4}
  mkdir -p "$results" "$2/overlap"
  cd "$2/overlap"
  . ../env.sh
  ln -sfn ../demo demo
  read -ra gpus <<<"${GPUS:-0}"
  export CUDA_VISIBLE_DEVICES=${gpus[0]} # of the start and of the evaluation
  [ -e merged/done ] || start
  if [ ${#gpus[@]} -gt 1 ]; then
    one "${gpus[0]}" fast_0 fast_1 &
    one "${gpus[1]}" slow_0 slow_1
    wait
  else
    one "${gpus[0]}" fast_0 fast_1 slow_0 slow_1
  fi
  models=$(for name in fast_0 fast_1 slow_0 slow_1; do ls -d "runs/$name"/checkpoints/grpo_*/adapter | sort -V | tail -1; done | paste -sd, -) || true
  hone --config fast_0.yaml --json --seed "$seed" eval --sandbox off --model base --base-model merged --compare "$models" --dataset tasks.json --split validation \
    >"$results/eval.json" 2>"$results/eval.log" || tail -n 3 "$results/eval.log"
  for log in "$results"/*_?.log; do [ -e "${log%.log}/done" ] || { echo "$log:" && tail -n 3 "$log" | cut -c1-200; }; done
  python3 "$here/tables/overlap.py" "$results"
  ;;
*) usage ;;
esac
