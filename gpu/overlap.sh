#!/usr/bin/env bash
# Measures what the overlap of rollouts and training saves (grpo.staleness: 1): `hone demo learn --arms grpo` with and without, from one start, against a
# server that answers at once and against one whose answers take $DELAY seconds.
#   gpu/overlap.sh run FOLDER RESULTS    runs what is not done, two at a time on two GPUs where $GPUS names two, else one; prints the table
#   gpu/overlap.sh table RESULTS         the table of what is done, RESULTS/table.json too
# FOLDER is what gpu/unpack.sh made. run waits at most $WAIT seconds (500): call it again to go on. $DELAY (0.3), $STEPS (30), $GROUPS_PER_STEP of 8
# rollouts (16), $SEED (4), $GPUS ("0"), $BACKEND (cuda), $MORE flags for all. Runs on one GPU follow each other, so that they do not share it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}

# one FOLDER RESULTS GPU NAME...: the runs of one GPU, one after the other
one() {
  local folder=$1 results=$2 gpu=$3 name at staleness
  shift 3
  for name in "$@"; do
    at="$results/$name" staleness=${name##*_}
    [ ! -e "$at.json" ] || continue
    rm -rf "$at"
    mkdir -p "$at/demo"
    ln -sfn "$folder/demo/node_modules" "$at/demo/node_modules"
    cp "$folder/demo/mcp.json" "$at/demo/"
    if [[ $name == slow_* ]]; then
      python3 - "$at/demo/mcp.json" "$here/overlap/slow.py" "${DELAY:-0.3}" <<'PY'
import json, sys
file, slow, delay = sys.argv[1:]
config = json.load(open(file))
for server in config["mcpServers"].values():
    server["args"] = [slow, delay, server["command"], *server["args"]]
    server["command"] = "python3"
json.dump(config, open(file, "w"))
PY
    fi
    cat >"$at/hone.yaml" <<YAML
grpo: {advantage: centred, staleness: $staleness}
YAML
    (cd "$at" && CUDA_VISIBLE_DEVICES=$gpu hone --config hone.yaml demo learn --plain --yes --sandbox off --backend "${BACKEND:-cuda}" --split validation --seed "${SEED:-4}" \
      --shown-kinds 8 --steps "${STEPS:-30}" --groups "${GROUPS_PER_STEP:-16}" --group-size 8 --grpo-rate 1.5e-4 --arms grpo --output-dir run ${MORE:-}) \
      >"$at.part" 2>"$at.log" </dev/null && mv "$at.part" "$at.json" || echo "exit code $?" >>"$at.log"
  done
}

case ${1:-} in
one)
  shift
  one "$@"
  ;;
table) python3 "$here/overlap/table.py" "$2" ;;
run)
  [ $# = 3 ] || usage
  results=$(realpath -m "$3") folder=$(realpath "$2")
  mkdir -p "$results"
  cd "$folder"
  . ./env.sh
  read -ra gpus <<<"${GPUS:-0}"
  pids=()
  fast="fast_0 fast_1" slow="slow_0 slow_1"
  [ ${#gpus[@]} -gt 1 ] && parts=("$fast" "$slow") || parts=("$fast $slow")
  for i in "${!parts[@]}"; do
    pid=$(cat "$results/$i.pid" 2>/dev/null || true)
    if [ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null; then
      # shellcheck disable=SC2086
      setsid nohup "$here/overlap.sh" one "$folder" "$results" "${gpus[$i]}" ${parts[$i]} >>"$results/$i.out" 2>&1 </dev/null &
      pid=$!
      echo "$pid" >"$results/$i.pid"
    fi
    pids+=("$pid")
  done
  for ((waited = 0; waited < ${WAIT:-500}; waited += 3)); do
    left=
    for pid in "${pids[@]}"; do
      if kill -0 "$pid" 2>/dev/null; then left=1; fi
    done
    [ -n "$left" ] || break
    sleep 3
  done
  for log in "$results"/*.log; do
    [ ! -e "$log" ] || [ -e "${log%.log}.json" ] || { echo "$log:" && tail -n 3 "$log" | cut -c1-200; }
  done
  python3 "$here/overlap/table.py" "$results"
  ;;
*) usage ;;
esac
