#!/usr/bin/env bash
# Measures what an initial-call agent saves: a weak SmolLM2-135M (SFT on $WEAK demonstrations) is the upstream, a better one (SFT on
# $STRONG) makes its first calls. The agent is calibrated on 320 validation tasks of the demo, and measured on 320 test tasks.
#   experiments/gpu/initial.sh prepare DATA            writes the settings; seconds, no GPU
#   experiments/gpu/initial.sh run DATA RESULTS        trains both, calibrates, measures with and without, prints one table
# run goes on where it was. Both need $HONE (hone), $LEARN (hone-learn) and $SERVERS, a folder with node_modules of calc-mcp. $BACKEND (cuda),
# $SEED (1), $WEAK (150), $STRONG (1000), $PRECISION (0.95), $TASKS of each split (all 320).
set -euo pipefail
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}
hone=${HONE:-hone}
here=$(cd "$(dirname "$0")" && pwd)

prepare() {
  mkdir -p "$1"
  : "${SERVERS:?names no folder of servers}"
  local calc
  calc=$(find -L "$SERVERS" -path "*node_modules/@coo-quack/calc-mcp/dist/index.js" -print -quit)
  [ -n "$calc" ] || { echo "$SERVERS lacks calc-mcp" >&2; exit 2; }
  cat >"$1/hone.yaml" <<YAML
model: {base: SmolLM2-135M-Instruct, context: 2048}
rollout: {system: "Call a tool to get the result, then reply with the result only.", max_turns: 4, max_tokens: 64, max_tool_calls: 6, max_result: 128}
engine: {backend: ${BACKEND:-cuda}}
mcp: {sandbox: {mode: ${SANDBOX:-"off"}}}
YAML
  # The tools that the demo uses: the list of all 21 is 14,000 tokens.
  printf '{"mcpServers": {"calc": {"command": "node", "args": ["%s", "%s", "node", "%s"], "isolation": "shared"}}}\n' \
    "$here/initial/filter.mjs" hash,base64,encode,count,math,date,base,color "$calc" >"$1/mcp.json"
}

# start RESULTS NAME DEMONSTRATIONS SPLIT: the adapter after so many demonstrations, and the tasks of a split.
start() {
  local out=$1/$2
  [ -e "$out.done" ] && return
  rm -rf "$out"
  (cd "$root" && "${LEARN:-hone-learn}" --plain -q --yes --sandbox "${SANDBOX:-off}" --backend "${BACKEND:-cuda}" --seed "${SEED:-1}" --arms "" \
    --demonstrations "$3" --steps 1 --groups 1 --group-size 2 --split "$4" --output-dir "$out" >"$out.json" 2>"$out.log") || { tail -n 5 "$out.log" >&2; return 1; }
  rm -rf "$1/$2.adapter"
  cp -r "$(ls -d "$out"/checkpoints/sft_step_*/adapter | sort -V | tail -n 1)" "$1/$2.adapter" # a checkpoint is not to be written to
  python3 - "$out/tasks.json" "$1/$4.json" "${TASKS:-320}" <<'PY'
import json, sys
tasks = json.load(open(sys.argv[1]))["Test"][: int(sys.argv[3])]
json.dump(tasks, open(sys.argv[2], "w"))
PY
  touch "$out.done"
}

run() {
  local data=$1 results=$2
  local h="$hone --config $data/hone.yaml --yes" servers="--mcp-config $data/mcp.json --allow-findings *"
  start "$results" weak "${WEAK:-150}" test &
  local weak=$!
  start "$results" strong "${STRONG:-1000}" validation
  wait "$weak"
  set -f # the star of $servers is hone's
  if [ ! -e "$results/strong.adapter/initial_call.json" ]; then
    rm -rf "$results/calibrated"
    $h --json eval --model "$results/strong.adapter" --dataset "$results/validation.json" --split validation $servers \
      --calibrate "${PRECISION:-0.95}" --output-dir "$results/calibrated" >"$results/calibrated.json" 2>"$results/calibrated.log" || { tail -n 5 "$results/calibrated.log"; exit 1; }
  fi
  if [ ! -e "$results/measured.json" ]; then
    rm -rf "$results/measured"
    # Both processes take what memory they need; the server's key is its address, of this machine alone.
    $h --json serve --model "upstream=$results/weak.adapter" --listen 127.0.0.1:0 --slots 16 >"$results/serve.out" 2>"$results/serve.log" &
    local server=$!
    trap 'kill "$server" 2>/dev/null || true' EXIT
    for ((i = 0; i < 600; i++)); do
      [ -s "$results/serve.out" ] && break
      kill -0 "$server" 2>/dev/null || { tail -n 5 "$results/serve.log"; exit 1; }
      sleep 0.5
    done
    local url
    url=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["url"])' "$results/serve.out")
    $h --json eval --model "$url/upstream" --initial-call "$results/strong.adapter" --dataset "$results/test.json" --split test $servers \
      --output-dir "$results/measured" >"$results/measured.part" 2>"$results/measured.log" || [ $? = 3 ] || { tail -n 5 "$results/measured.log"; exit 1; }
    kill "$server"
    wait "$server" || true
    trap - EXIT
    mv "$results/measured.part" "$results/measured.json"
  fi
  set +f
  python3 - "$results" <<'PY'
import json, sys
folder = sys.argv[1]
m = json.load(open(f"{folder}/measured.json"))
c = json.load(open(f"{folder}/strong.adapter/initial_call.json"))
i = m["initial_call"]
def text(v, scale=100, unit="%"):
    return f"{scale * v['mean']:.1f}{unit} [{scale * v['low']:.1f}, {scale * v['high']:.1f}]"
print("calibration:", json.dumps(c))
print("| | upstream | with initial calls |\n|---|---|---|")
for name, metric in (("whole episode", "completion"), ("first call", "first_call"), ("tokens of the upstream", "tokens")):
    cells = []
    for system in (i["without"], i["with"]):
        x = m["systems"][system]["metrics"]
        if metric == "tokens":
            cells.append(f"{x['prompt_tokens']['mean'] + x['completion_tokens']['mean']:.0f}")
        else:
            cells.append(text(x[metric]))
    print(f"| {name} | {cells[0]} | {cells[1]} |")
print(f"success: {text(i['success'], 100, ' points')}; requests saved: {text(i['requests_saved'])}; tokens saved: {text(i['tokens_saved'])}; "
      f"model seconds: {text(i['model_seconds'], 1, ' s')}; proposed in {i['proposed']} of {i['episodes']}, right in {i['right']}; "
      f"{i['small_tokens']:.0f} tokens of the small model an episode; n {i['success']['n']}")
met = 100 * i["success"]["low"] >= -2 and max(i["tokens_saved"]["low"], i["requests_saved"]["low"]) >= 0.2
print("bar met" if met else "bar NOT met", "(success's lower bound >= -2 points, >= 20% fewer tokens or requests)")
PY
}

root=${SERVERS:-} # where hone-learn finds its server: demo/mcp.json
[ -e "$root/demo/mcp.json" ] || root=$here/../..
case ${1:-} in
prepare)
  [ $# = 2 ] || usage
  prepare "$2"
  ;;
run)
  [ $# = 3 ] || usage
  data=$(realpath "$2") results=$(realpath -m "$3")
  mkdir -p "$results"
  prepare "$data"
  run "$data" "$results"
  ;;
*) usage ;;
esac
