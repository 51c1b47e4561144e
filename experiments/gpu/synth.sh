#!/usr/bin/env bash
# Measures what synthesised tasks are worth: SFT of SmolLM2-135M on tasks of one server, against the base, on tools that training
# had, tools that it had not, and a server that it had not; with and without the execution filter, and the quality gate.
#   experiments/gpu/synth.sh prepare DATA          makes the tasks and demonstrations; no model, no GPU, minutes
#   experiments/gpu/synth.sh run DATA RESULTS SEED...   trains and measures each arm for each seed, and prints one table
# run goes on where it was, and waits at most $WAIT seconds (500): call it again to go on waiting. Both need $HONE (hone), $BENCH (hone-bench)
# and $SERVERS, a folder with node_modules of calc-mcp and server-memory (after experiments/gpu/unpack.sh: FOLDER/demo and FOLDER/servers).
# prepare: $N tasks (400), of the unseen server $M (60). $JUDGE, as PROVIDER/MODEL, makes the arm without the quality gate too.
# run: $BACKEND (cuda), $EPOCHS (3), $LIMIT demonstrations (all), $ARMS. All seeds run at once unless $TURNS is set.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}
[ $# -ge 2 ] && [ "$1" != --help ] || usage
hone=${HONE:-hone}

# settings FOLDER: the configuration and the servers of one run.
settings() {
  mkdir -p "$1"
  cat >"$1/hone.yaml" <<YAML
model: {base: SmolLM2-135M-Instruct, context: ${CONTEXT:-2048}}
rollout: {max_turns: 4, max_tokens: 96, max_tool_calls: 4, max_result: 400}
engine: {backend: ${BACKEND:-cuda}}
mcp: {sandbox: {mode: ${SANDBOX:-"off"}}}
sft: {epochs: ${EPOCHS:-3}, batch_size: 8, optimizer: {learning_rate: 1e-3}}
YAML
  : "${SERVERS:?names no folder of servers}"
  find_module() { find -L "$SERVERS" -path "*node_modules/$1" -print -quit; }
  local calc memory
  calc=$(find_module @coo-quack/calc-mcp/dist/index.js) memory=$(find_module @modelcontextprotocol/server-memory/dist/index.js)
  [ -n "$calc" ] && [ -n "$memory" ] || { echo "$SERVERS lacks calc-mcp or server-memory" >&2; exit 2; }
  printf '{"mcpServers": {"calc": {"command": "node", "args": ["%s"], "isolation": "shared"}}}\n' "$calc" >"$1/calc.mcp.json"
  printf '{"mcpServers": {"memory": {"command": "node", "args": ["%s"], "env": {"MEMORY_FILE_PATH": "${HONE_EPISODE_DIR}/memory.jsonl"}}}}\n' "$memory" >"$1/memory.mcp.json"
}

prepare() {
  local data=$1 gate=()
  BACKEND=cpu settings "$data"
  cd "$data"
  [ -z "${JUDGE:-}" ] || gate=(--judge "$JUDGE")
  local h="$hone --config hone.yaml -q --yes"
  $h synth --mcp-config calc.mcp.json --call-all --allow-findings '*' --split-by tool -n "${N:-400}" --out seen.json --rejected fell.json "${gate[@]}" >seen.txt
  $h synth --mcp-config memory.mcp.json --call-all -n "${M:-60}" --out other.json >other.txt
  rm -rf shown fallen
  $h collect --gold --mcp-config calc.mcp.json --allow-findings '*' --dataset seen.json --split train --output-dir shown
  $h collect --gold --mcp-config calc.mcp.json --allow-findings '*' --dataset fell.json --split train --output-dir fallen
  python3 "$here/synth/arms.py" .
}

# one DATA RESULTS SEED: trains the arms and measures them.
one() {
  local data=$1 results=$2 seed=$3 compare=base
  local h="$hone --config $data/run/hone.yaml --seed $seed -q --yes"
  for arm in ${ARMS:-$(cd "$data" && ls arm-*.jsonl | sed 's/arm-\(.*\).jsonl/\1/')}; do
    local rows="$results/$seed/$arm.jsonl" out="$results/$seed/$arm"
    if [ ! -e "$out/final/adapter_model.safetensors" ]; then
      rm -rf "$out"
      head -n "${LIMIT:-1000000}" "$data/arm-$arm.jsonl" >"$rows"
      $h sft --data "$rows" --catalog "$data/catalog.json" --allow-findings '*' --output-dir "$out"
    fi
    compare+=",$out/final"
  done
  while read -r set file split servers; do
    local out="$results/$seed/eval-$set"
    [ -e "$out.json" ] && continue
    rm -rf "$out"
    $h --json eval --compare "$compare" --dataset "$data/$file" --split "$split" --mcp-config "$data/run/$servers.mcp.json" --allow-findings '*' --output-dir "$out" >"$out.part" || [ $? = 3 ]
    for stage in base $(cd "$results/$seed" && ls -d */final | cut -d/ -f1); do
      "${BENCH:-hone-bench}" calls -q --run "$out" --stage "eval_$stage" --json >/dev/null 2>"$out.$stage.calls" || rm -f "$out.$stage.calls"
    done
    mv "$out.part" "$out.json"
  done <<SETS
seen_tools seen.json validation calc
unseen_tools seen.json test calc
unseen_server other.json test memory
SETS
}

case $1 in
prepare)
  [ $# = 2 ] || usage
  mkdir -p "$2"
  prepare "$(realpath "$2")"
  ;;
one) # of run, for one seed
  one "$2" "$3" "$4"
  ;;
run)
  [ $# -ge 4 ] || usage
  data=$(realpath "$2") results=$(realpath -m "$3")
  shift 3
  mkdir -p "$results"
  settings "$data/run"
  pids=()
  for seed in "$@"; do
    mkdir -p "$results/$seed"
    pid=$(cat "$results/$seed/pid" 2>/dev/null || true)
    if [ -e "$results/$seed/eval-unseen_server.json" ] || { [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; }; then
      pids+=("${pid:-0}")
      continue
    fi
    setsid nohup "$0" one "$data" "$results" "$seed" >"$results/$seed/log" 2>&1 </dev/null &
    echo $! >"$results/$seed/pid"
    pids+=($!)
    [ -z "${TURNS:-}" ] || wait $!
  done
  for ((waited = 0; waited < ${WAIT:-500}; waited += 5)); do
    left=
    for pid in "${pids[@]}"; do
      if [ "$pid" != 0 ] && kill -0 "$pid" 2>/dev/null; then left=1; fi
    done
    [ -n "$left" ] || break
    sleep 5
  done
  for seed in "$@"; do
    [ -e "$results/$seed/eval-unseen_server.json" ] || { echo "seed $seed is not done:"; tail -n 4 "$results/$seed/log"; }
  done
  python3 "$here/tables/synth.py" "$results" "$@"
  ;;
*) usage ;;
esac
