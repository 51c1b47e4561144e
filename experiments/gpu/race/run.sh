#!/usr/bin/env bash
# A race: hone and TRL train the same model, from the same start, on the same tasks of the same server.
#   experiments/gpu/race/run.sh wheels FOLDER             here: the Python packages that a GPU machine without network lacks
#   experiments/gpu/race/run.sh run HONE WHEELS RESULTS   there: HONE is what experiments/gpu/unpack.sh made
# $GPUS ("0 1") is hone's and TRL's; "0 0": they share one. MINUTES (5) bounds each side; TRL keeps an adapter every $EVERY steps (3). $BACKEND (cuda), $DTYPE.
# RESULTS/sides.tsv: side, step, seconds since both were begun, adapter; eval.json has the success of some of each, the last among them. Nothing is evaluated
# where the two sides' prompts are not the same, id for id.
# Both sides: rewards 1 for all checks and 0.3 for the gold calls' share, 16 tasks x 8, a constant 3e-4, LoRA r 16, bf16.
# TRL samples with transformers' generate: vLLM, its faster way, is no part of the wheels.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case ${1:-} in
wheels)
  python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.12 --implementation cp --platform manylinux_2_17_x86_64 --platform manylinux_2_28_x86_64 \
    -d "$2" trl==1.16.0 datasets==5.2.0 dill multiprocess jmespath
  ls -l "$2"
  ;;
run)
  folder=$2 wheels=$(realpath "$3") results=$(realpath -m "$4") minutes=${MINUTES:-5} backend=${BACKEND:-cuda} dtype=${DTYPE:-bf16}
  mkdir -p "$results"
  read -ra gpus <<<"${GPUS:-0 1}"
  export CUDA_VISIBLE_DEVICES=${gpus[0]} # of the start and of the evaluation
  cd "$folder"
  . ./env.sh
  python3 -m pip install -q --no-index --no-deps --no-compile --target site "$wheels"/*.whl
  server="node demo/node_modules/@coo-quack/calc-mcp/dist/index.js"
  cat >race.yaml <<Y
engine: {backend: $backend, dtype: $dtype, slots: 128, row_multiple: 128}
mcp: {config: demo/race.json}
model: {context: 2048}
rollout: {system: "Call a tool to get the result, then reply with the result only.", max_turns: 4, max_tokens: 64, max_tool_calls: 6, max_result: 128}
rewards: {checks: 1, call: 0.3, tool: 0, end: 0, extra: 0, repeat: 0, invalid: 0, parse: 0}
eval: {every: 0}
grpo: {steps: 400, scenarios_per_step: 16, group_size: 8, checkpoint_every: 10, optimizer: {learning_rate: 3e-4, schedule: constant, warmup: 0}${GRPO:+, $GRPO}}
Y
  printf "engine: {backend: $backend, dtype: $dtype}\n" >start.yaml
  [ -d runs/start ] || hone-learn --config start.yaml --seed 1 --plain --arms "" --steps 200 --groups 16 --output-dir runs/start >"$results/start.log" 2>&1
  adapter=$(ls -d runs/start/checkpoints/sft_*/adapter | tail -1)
  rm -rf merged kept runs/hone runs/trl
  hone merge --adapter "$adapter" --output-dir merged --dtype f32 -q
  python3 "$here/tasks.py" runs/start race.json demo/race.json
  python3 - <<'P'
import json, subprocess
catalog = json.load(open("runs/start/catalog.json"))
tools = [{"type": "function", "function": {"name": t["model_name"], "description": t["description"], "parameters": t["inputSchema"]}} for s in catalog["servers"] for t in s["tools"]]
line = {"messages": [{"role": "system", "content": "Call a tool to get the result, then reply with the result only."}, {"role": "user", "content": "hi"}], "tools": tools}
text = json.loads(subprocess.run(["hone", "--config", "race.yaml", "inspect", "render", "--model", "merged"], input=json.dumps(line), capture_output=True, text=True, check=True).stdout)["text"]
open("system.txt", "w").write(text[len("<|im_start|>system\n"):text.index("<|im_end|>")])
P
  touch began
  (CUDA_VISIBLE_DEVICES=${gpus[0]} timeout "$((minutes * 60))" hone --config race.yaml --seed 1 train --base-model merged --dataset race.json --output-dir runs/hone >"$results/hone.log" 2>&1 || true) &
  sides=$!
  (CUDA_VISIBLE_DEVICES=${gpus[1]} PYTHONPATH=site timeout "$((minutes * 60))" python3 "$here/peer.py" --model merged --tasks race.json --system system.txt --server "$server" --out runs/trl --steps 400 --rows 32 --every "${EVERY:-3}" >"$results/trl.log" 2>&1 || true) &
  sides="$sides $!"
  (while sleep 2; do # a run keeps its newest checkpoints only
    for c in runs/hone/checkpoints/grpo_step_*/; do
      n=${c%/}
      [ -e "kept/${n##*_}" ] || { mkdir -p kept && cp -rp "$c/adapter" "kept/.${n##*_}" && mv "kept/.${n##*_}" "kept/${n##*_}"; } 2>/dev/null || true
    done
  done) &
  copier=$!
  wait $sides # shellcheck disable=SC2086
  sleep 3
  kill "$copier"
  : >sides.tsv
  for a in kept/* runs/trl/step-*; do
    [ ! -e "$a/adapter_model.safetensors" ] || {
      side=hone step=${a##*/} && [[ $a == kept/* ]] || side=trl step=$((10#${a##*-}))
      printf '%s\t%s\t%s\t%s\n' "$side" "$step" "$(($(stat -c %Y "$a/adapter_model.safetensors") - $(stat -c %Y began)))" "$a"
    }
  done | sort -V >>sides.tsv
  mkdir -p "$results"/{hone,trl}
  cp sides.tsv "$results/"
  for side in hone trl; do cp "runs/$side/metrics.jsonl" "$results/$side/" || true; done
  PYTHONPATH=site python3 "$here/peer.py" --model merged --tasks race.json --system system.txt --server "$server" --out runs/trl --same runs/hone/trajectories.jsonl
  models=$(for side in hone trl; do # some of each, the last too: each takes seconds to evaluate
    awk -F'\t' -v s="$side" '$1 == s {a[++n] = $4} END {k = int((n + 7) / 8); for (i = n; k && i > 0; i -= k) print a[i]}' sides.tsv
  done | paste -sd, -)
  hone --config race.yaml --json --seed 1 eval --model base --base-model merged --compare "$models" --dataset race.json --split test >"$results/eval.json" 2>"$results/eval.log"
  tail -3 "$results/eval.log"
  ;;
*)
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
  ;;
esac
