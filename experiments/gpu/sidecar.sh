#!/usr/bin/env bash
# Measures what a trained sidecar is worth: SmolLM2-135M revises the calls of upstreams (the base model and two that were fine-tuned on
# few demonstrations), against the fixer alone, Forge, SFT, its own answer without the draft, and the upstream told of its error.
#   experiments/gpu/sidecar.sh prepare DATA          executes the tasks on the servers and cuts the data to size; no model, no GPU, minutes
#   experiments/gpu/sidecar.sh run DATA RESULTS      trains and measures, and prints the tables; five minutes on an H200
# Both need $HONE (hone); prepare needs $SERVERS, a folder with node_modules of calc-mcp and server-memory, and pip. The upstream
# "held" and the server memory are held out: nothing is learnt from them. Forge needs Python 3.12; without it its row is left out.
# prepare: $CALC and $MEMORY, tasks of each server (3200, 400). run: $BACKEND (cuda), $STEPS of GRPO (24), $EPOCHS (2), $SEED (1),
# $PARTS of it (up data sft grpo copy forge eval); what is done already is not done again.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}
[ $# -ge 2 ] && [ "$1" != --help ] || usage
hone=${HONE:-hone}

settings() { # FOLDER
  cat >"$1/hone.yaml" <<YAML
seed: ${SEED:-1}
model: {base: SmolLM2-135M-Instruct, context: ${CONTEXT:-1280}}
engine: {backend: ${BACKEND:-cuda}, slots: ${SLOTS:-128}}
rollout: {max_tokens: 128, temperature: 1}
sft: {epochs: ${EPOCHS:-2}, batch_size: 16, optimizer: {learning_rate: 5e-4}}
grpo: {steps: ${STEPS:-24}, scenarios_per_step: 16, group_size: 8, optimizer: {learning_rate: 2e-5}}
mcp: {sandbox: {mode: "off"}}
YAML
  sed 's/^sft: .*/sft: {epochs: 2, batch_size: 8, optimizer: {learning_rate: 1e-3}}/' "$1/hone.yaml" >"$1/upstream.yaml"
}

prepare() {
  cd "$1"
  BACKEND=cpu settings .
  : "${SERVERS:?names no folder of servers}"
  local calc memory
  calc=$(find -L "$SERVERS" -path '*node_modules/@coo-quack/calc-mcp/dist/index.js' -print -quit)
  memory=$(find -L "$SERVERS" -path '*node_modules/@modelcontextprotocol/server-memory/dist/index.js' -print -quit)
  [ -n "$calc" ] && [ -n "$memory" ] || { echo "$SERVERS lacks calc-mcp or server-memory" >&2; exit 2; }
  local first="\"calc\": {\"command\": \"node\", \"args\": [\"$calc\"], \"isolation\": \"shared\"}"
  local second="\"memory\": {\"command\": \"node\", \"args\": [\"$memory\"], \"env\": {\"MEMORY_FILE_PATH\": \"\${HONE_EPISODE_DIR}/memory.jsonl\"}}"
  echo "{\"mcpServers\": {$first}}" >calc.mcp.json
  echo "{\"mcpServers\": {$second}}" >memory.mcp.json
  echo "{\"mcpServers\": {$first, $second}}" >both.mcp.json
  local h="$hone --config hone.yaml -q --yes" n
  [ -e calc.json ] || $h synth --mcp-config calc.mcp.json --call-all --allow-findings '*' -n "${CALC:-3200}" --out calc.json >calc.txt
  [ -e memory.json ] || $h synth --mcp-config memory.mcp.json --call-all -n "${MEMORY:-400}" --out memory.json >memory.txt
  for n in calc memory; do # one after the other: a session on both servers would start both
    [ -e "$n/points.jsonl" ] || $h sidecar make-data --mcp-config $n.mcp.json --allow-findings '*' --dataset $n.json --hold-server memory --corrupt 0 --out $n >/dev/null
  done
  mkdir -p points wheels
  $h discover --mcp-config both.mcp.json --out points/catalog.json >/dev/null
  python3 "$here/sidecar/cut.py" .
  pip download -q --no-deps --only-binary=:all: --python-version 3.12 --implementation cp --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
    -d wheels forge-guardrails==0.10.0 pydantic==2.12.4 pydantic-core==2.41.5 annotated-types==0.7.0 typing-inspection==0.4.2 typing-extensions==4.15.0 tomli-w==1.2.0
  rm -rf calc memory ./*.synth.jsonl
  du -sh .
}

# once FILE COMMAND...: runs a command, unless the file that it makes is there.
once() {
  local file=$1 began=$SECONDS
  shift
  [ -e "$file" ] && return
  echo "$file" >&2
  "$@"
  echo "$file: $((SECONDS - began)) s" >&2
}

# at_once: once, beside what comes next. What fails leaves no file, which eval tells.
at_once() {
  once "$@" &
}

forge() { # DATA: asks the upstreams through a server of ours
  local port=8123 pid
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 12))' || { echo "Forge needs Python 3.12" >&2; return 0; }
  python3 -m pip install -q --no-index --no-deps --no-compile --target site "$1"/wheels/*.whl || return 0
  $hone --config hone.yaml -q serve --model weak=up/weak/final --model held=up/held/final --listen 127.0.0.1:$port --slots 64 --context "${CONTEXT:-1280}" >serve.json &
  pid=$!
  until [ -s serve.json ]; do kill -0 $pid || return 0; sleep 1; done
  PYTHONPATH=site python3 "$here/sidecar/guarded.py" data/rows.jsonl data/catalog.json forge.part weak=http://127.0.0.1:$port/v1/weak held=http://127.0.0.1:$port/v1/held \
    base=http://127.0.0.1:$port/v1/SmolLM2-135M-Instruct || true
  kill $pid
  wait $pid || true
  [ ! -s forge.part ] || mv forge.part forge.jsonl
}

run() { # DATA RESULTS
  local data=$1 h
  cd "$2"
  settings .
  h="$hone --config hone.yaml -q --yes --plain"
  mkdir -p up
  for part in ${PARTS:-up data sft grpo copy forge eval}; do
    case $part in
    up)
      at_once up/weak/final/adapter_config.json $hone --config upstream.yaml -q --yes --plain sft --data "$data/weak.jsonl" --catalog "$data/points/catalog.json" --allow-findings '*' --output-dir up/weak
      at_once up/held/final/adapter_config.json $hone --config upstream.yaml -q --yes --plain sft --data "$data/held.jsonl" --catalog "$data/points/catalog.json" --allow-findings '*' --output-dir up/held
      wait
      ;;
    data) once data/rows.jsonl $h sidecar make-data --points "$data/points" --from base,up/weak/final,up/held/final --temperature 0.7 --hold-source held --corrupt 2 --out data ;;
    sft) once sft/final/sidecar.json $h sidecar train --data data --method sft --probe-every 50 --output-dir sft ;;
    grpo) at_once grpo/final/sidecar.json $h sidecar train --data data --method grpo --adapter sft/final --output-dir grpo ;;
    copy) at_once copy/final/sidecar.json $h sidecar train --data data --method sft --sources weak --probe-every 10 --output-dir copy ;;
    forge) at_once forge.jsonl forge "$data" ;;
    eval)
      wait
      local others=()
      [ ! -e forge.jsonl ] || others=(--outputs forge=forge.jsonl)
      once report.json $h sidecar eval --data data --model sft/final,grpo/final --alone --hints weak=up/weak/final,held=up/held/final --timed 24 "${others[@]}" --out report.json >table.txt
      ;;
    esac
  done
  wait
  cat table.txt
  python3 "$here/tables/sidecar.py" .
}

case $1 in
prepare) [ $# = 2 ] || usage; mkdir -p "$2"; prepare "$(realpath "$2")" ;;
run) [ $# = 3 ] || usage; mkdir -p "$3"; run "$(realpath "$2")" "$(realpath "$3")" ;;
*) usage ;;
esac
