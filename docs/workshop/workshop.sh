#!/usr/bin/env bash
# The workshop of docs/WORKSHOP.md, from traces to a served model: workshop.sh FOLDER [PART...]
# PARTs, in order: browser, shown, teacher, traces, curate, dataset, train, merge, measure, push, serve. Without any, all of them.
#   HONE (hone), MODEL (SmolLM2-135M-Instruct), BACKEND (auto), SLOTS (8), CONTEXT (2048), EPOCHS (3)
#   CALC: a folder with node_modules of calc-mcp (../../demo)
#   NUM_SHOP (40): tasks of the browser, of which three in five are run
#   NUM_SHOWN (600): tasks of which the teacher is shown three in five
#   NUM_TASKS (600): others, of which one in five is the test, and NUM_TRACED (200) are done by the teacher
#   SIZES (25 50 100): curated traces that pupils learn from; AT_ONCE: set where they are to learn at the same time
#   TO (ada/workshop): where to push, by HF_ENDPOINT and HF_TOKEN
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] && [ "$1" != --help ] || { sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
shift
hone=${HONE:-hone} calc=$(cd "${CALC:-$here/../../demo}" && pwd) sizes=${SIZES:-25 50 100} to=${TO:-ada/workshop}
largest=${sizes##* }

# settings FILE ROUNDS RESULT SYSTEM RULES TOOLS: what all commands on a server agree on. A result over RESULT bytes is cut in its middle.
settings() {
  cat >"$1" <<YAML
model: {base: ${MODEL:-SmolLM2-135M-Instruct}, context: ${CONTEXT:-2048}}
rollout: {max_turns: $2, max_tokens: 96, max_tool_calls: $2, max_result: $3, system: "$4"}
engine: {backend: ${BACKEND:-auto}, slots: ${SLOTS:-8}}
mcp: {max_tools: $6, sandbox: {mode: ${SANDBOX:-auto}, exempt: [browser]}, approval: {$5}}
sft: {epochs: ${EPOCHS:-3}, batch_size: 8, optimizer: {learning_rate: 1e-3}}
YAML
}
settings shop.yaml 8 2000 "" 'allow: ["browser/browser_navigate", "browser/browser_click", "browser/browser_snapshot"], deny: ["browser/browser_run_code_unsafe", "browser/browser_evaluate"]' 40
settings calc.yaml 4 400 "Call a tool to get the result, then reply with the result only." 'allow: [calc]' "${MAX_TOOLS:-40}"
calcmcp=$(find -L "$calc" -path '*node_modules/@coo-quack/calc-mcp/dist/index.js' -print -quit)
printf '{"mcpServers": {"calc": {"command": "node", "args": ["%s"], "isolation": "shared"}}}\n' "$calcmcp" >calc.mcp.json
on_shop() { "$hone" --config shop.yaml "$@"; }
on_calc() { "$hone" --config calc.yaml "$@"; }

# background NAME COMMAND...: starts a server, and waits for the address that it prints into NAME.url.
background() {
  local name=$1
  shift
  : >"$name.url"
  "$@" >"$name.url" 2>"$name.log" &
  servers+=($!)
  for ((waited = 0; waited < 1200; waited++)); do
    [ -s "$name.url" ] && return
    kill -0 "${servers[-1]}" 2>/dev/null || { cat "$name.log" >&2; return 1; }
    sleep 0.1
  done
  echo "$name does not answer" >&2
  return 1
}
servers=()
stop() {
  for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${servers[@]}"; do wait "$pid" 2>/dev/null || true; done
  servers=()
}
trap stop EXIT

# Traces of the browser: a script behind OpenAI's protocol, for no model that is to be had without a network can browse.
browser() {
  local chromium
  chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
  printf '{"mcpServers": {"browser": {"command": "node", "args": ["%s", "--headless", "--isolated", "--no-sandbox", "--executable-path", "%s"]}}}\n' \
    "$here/node_modules/@playwright/mcp/cli.js" "$chromium" >shop.mcp.json
  background shop python3 "$here/shop.py" serve 0
  background policy python3 "$here/policy.py" 0
  python3 "$here/shop.py" tasks "${NUM_SHOP:-40}" "$(cat shop.url)" >shop.jsonl
  on_shop collect --yes --endpoint "$(cat policy.url)" --model scripted --mcp-config shop.mcp.json --dataset shop.jsonl --allow-findings browser/browser_drop --output-dir shop
  stop
}

# The teacher of the second server: an adapter trained on gold calls of tasks that nobody else sees.
shown() {
  python3 "$here/calc.py" 100000 $((100000 + ${NUM_SHOWN:-600})) >shown.jsonl
  on_calc collect --yes --gold --mcp-config calc.mcp.json --dataset shown.jsonl --output-dir shown
}
teacher() { on_calc sft --data shown/trajectories.jsonl --allow-findings '*' --output-dir teacher; }

# Its traces: real weights behind hone serve, on tasks that it has not seen.
traces() {
  python3 "$here/calc.py" 0 "${NUM_TASKS:-600}" >calc.jsonl
  on_calc scenarios validate calc.jsonl --mcp-config calc.mcp.json
  grep -m "${NUM_TRACED:-200}" '"split": "train"' calc.jsonl >traced.jsonl
  background serve "$hone" --config calc.yaml --plain serve --model teacher=teacher/final --listen 127.0.0.1:0 --context "${CONTEXT:-2048}" --slots "${SLOTS:-8}"
  on_calc collect --endpoint "$(head -n 1 serve.url)" --model teacher --mcp-config calc.mcp.json --parallel "${SLOTS:-8}" --dataset traced.jsonl --output-dir calc
  stop
}

# Rules reject, and an operation by hand shows what a person does. Nothing is lost: all is in the ledgers beside the traces.
curate() {
  for server in shop calc; do
    local data=$server/trajectories.jsonl first
    [ -e "$data" ] || continue
    "$hone" --config $server.yaml curate rules "$data" --checks-passed --schema-valid --no-tool-error
    first=$("$hone" --config $server.yaml --json curate show "$data" | python3 -c 'import json, sys; print(next((t["id"] for t in json.load(sys.stdin) if t["status"] == "undecided"), ""))')
    [ -n "$first" ] || { echo "the rules left no trace of $server" >&2; return 3; }
    printf '{"do": "accept", "trace": "%s", "why": "looked at"}\n' "$first" | "$hone" --config $server.yaml curate do "$data" -
    "$hone" --config $server.yaml curate export "$data" --out $server-curated.jsonl
  done
  wc -l ./*-curated.jsonl
}

# What is trained of each message, and the folder that goes to the Hub.
dataset() {
  on_shop data unroll shop-curated.jsonl --catalog shop/catalog.json
  on_calc data unroll calc-curated.jsonl --catalog calc/catalog.json
  on_calc data convert shop-curated.jsonl calc-curated.jsonl --to hf --unroll turns --out dataset
}

train() {
  local pids=()
  for n in $sizes; do
    head -n "$n" calc-curated.jsonl >"traces-$n.jsonl"
    [ "$(wc -l <"traces-$n.jsonl")" = "$n" ] || { echo "only $(wc -l <"traces-$n.jsonl") of $n traces were kept: raise NUM_TRACED" >&2; return 3; }
    on_calc sft --data "traces-$n.jsonl" --catalog calc/catalog.json --allow-findings '*' --output-dir "sft-$n" &
    pids+=($!)
    [ -n "${AT_ONCE:-}" ] || wait $!
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
}

merge() { on_calc merge --adapter "sft-$largest/final" --output-dir merged --dtype bf16; }

measure() {
  local compare=base
  for n in $sizes; do [ "$n" = "$largest" ] || compare+=",sft-$n/final"; done
  on_calc eval --compare "$compare" --model "sft-$largest/final" --split test --dataset calc.jsonl --mcp-config calc.mcp.json --allow-findings '*' --output-dir measured || [ $? = 3 ]
  python3 "$here/table.py" measured/results.json $sizes
}

push() {
  on_calc push dataset --to "$to-traces"
  on_calc push "sft-$largest/final" --to "$to-adapter" --evaluation measured
  on_calc push merged --run "sft-$largest" --evaluation measured --to "$to"
}

# Another machine serves what was pushed, by its name.
serve() {
  HF_HOME=$PWD/elsewhere background served "$hone" --config calc.yaml --plain serve --model base --base-model "$to" --listen 127.0.0.1:0 --context "${CONTEXT:-2048}"
  on_calc collect --endpoint "$(head -n 1 served.url)" --model "$to" --mcp-config calc.mcp.json --dataset calc.jsonl --split validation --output-dir served
  stop
}

for part in ${*:-browser shown teacher traces curate dataset train merge measure push serve}; do
  echo "== $part"
  $part
done
