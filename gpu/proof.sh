#!/usr/bin/env bash
# Everything that is to be shown of GRPO, on one machine of several GPUs, in one go and without a hand in between:
#   gpu/proof.sh start FOLDER RESULTS          begins it; it outlives the call
#   gpu/proof.sh wait RESULTS SECONDS [OUT]    waits until all has ended, or so long; prints what there is, and packs it to OUT
# FOLDER is what gpu/unpack.sh made, with own/tasks.json and own/mcp.json of a second server (hone synth) and race/*.whl (gpu/race/run.sh wheels) in it.
# The rule was fixed before it ran. Half of the kinds of task have no demonstrations. Each side has three settings on validation tasks, seeds 4 and 5; of
# each side the one with the highest mean of whole episodes goes to test, seeds 1 to 3, once. On the second server explore_own and rivals_own go to test at
# once. $GPUS (0 1), $JOBS runs at once on each (6). Validation has $VALIDATION seconds (800). After $RACE seconds (1200) the race begins, on the first and
# the last GPU; the parts that are not done then (noise, credit, starts) are ended.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}
ours="imitate explore explore_more" theirs="rivals_more rivals_more_4e-4 rivals_more_hot"

# trials NAME JOBS GPUS TRIAL...: those of one folder of results, until all have ended
trials() {
  local name=$1 jobs=$2 gpus=$3
  shift 3
  WAIT=${MOST:-3000} JOBS=$jobs GPUS=$gpus "$here/wins.sh" run "$folder" "$results/$name" "$@" >"$results/$name.txt" 2>&1
}

# chosen ARM: the trial of the arm that is best on validation
chosen() { python3 -c 'import json, sys; print(max((r for r in json.load(open(sys.argv[1])) if r["arm"] == sys.argv[2]), key=lambda r: (len(r["seeds"]), r["episode"]))["trial"])' "$results/validation/table.json" "$1"; }

all() {
  local began=$SECONDS gpus=${GPUS:-0 1} jobs=${JOBS:-6} own="--split test --dataset $folder/own/tasks.json --mcp-config $folder/own/mcp.json"
  # shellcheck disable=SC2086
  MOST=${VALIDATION:-800} SEEDS=${CHOOSE:-4 5} trials validation "$jobs" "$gpus" $theirs $ours &
  local validation=$! race=${gpus##* }
  sleep 20
  SEEDS="1 2 3" MORE=$own trials own $((jobs + 2)) "$gpus" explore_own rivals_own &
  local own=$!
  printf 'engine: {backend: cuda, dtype: bf16}\n' >start.yaml # what gpu/race/run.sh would make first
  CUDA_VISIBLE_DEVICES=$race hone --config start.yaml --seed 1 demo learn --plain --arms "" --steps 200 --groups 16 --output-dir runs/start >"$results/start.log" 2>&1 &
  wait "$validation" || true
  local grpo rejection continued
  grpo=$(chosen grpo) rejection=$(chosen rejection) continued=$(chosen continued)
  echo "to test: $grpo, rejection of $rejection, continued of $continued" | tee "$results/chosen.txt"
  SEEDS="1 2 3" MORE="--split test" trials test $((jobs + 2)) "$gpus" "$grpo" "$rejection" "$continued" from_best &
  local test=$!
  sleep 5
  SEEDS=${CHOOSE:-4 5} trials parts "$jobs" "$gpus" quiet noisy episodes turns turns_progress recoveries from_sft from_base &
  local parts=$! left=1
  while [ -n "$left" ] && [ $((SECONDS - began)) -lt "${RACE:-1200}" ]; do
    sleep 3
    left=$(jobs -r)
  done
  kill "$parts" 2>/dev/null || true # what it started would slow the race
  for pid in "$results"/parts/*.pid; do kill -- -"$(cat "$pid")" 2>/dev/null || true; done
  (cd "$folder" && env -u CUDA_MPS_PIPE_DIRECTORY GPUS="${gpus%% *} $race" MINUTES="${MINUTES:-3}" "$here/race/run.sh" run "$folder" "$folder/race" "$results/race") >"$results/race.txt" 2>&1 || true
  wait "$test" "$own" || true
}

case ${1:-} in
start)
  [ $# = 3 ] || usage
  mkdir -p "$3"
  setsid nohup "$here/proof.sh" all "$(realpath "$2")" "$(realpath "$3")" >"$3/all.log" 2>&1 </dev/null &
  echo $! >"$3/all.process"
  ;;
all)
  folder=$2 results=$3
  cd "$folder"
  "$here/mps.sh" start "$results/mps" && . "$results/mps/env.sh" || echo "processes take turns on a GPU"
  all
  echo "exit code $?"
  ;;
wait)
  results=$2
  for ((i = 0; i < $3; i += 3)); do
    kill -0 "$(cat "$results/all.process")" 2>/dev/null || break
    sleep 3
  done
  tail -n 3 "$results/all.log"
  PATH=$PATH:/usr/local/nvidia/bin nvidia-smi --query-gpu=memory.used,utilization.gpu --format=csv,noheader | paste -sd '|' || true
  uptime
  for part in validation own test parts; do
    [ -d "$results/$part" ] || continue
    echo "== $part: $(find "$results/$part" -name '*-*.json' | wc -l) done, $(find "$results/$part" -name '*.pid' | wc -l) begun"
    grep -l '^exit code' "$results/$part"/*.log 2>/dev/null | head -3 | while read -r log; do echo "failed: $log" && tail -n 4 "$log" | cut -c1-300; done || true
    for log in "$results/$part"/*.log; do [ ! -e "$log" ] || echo "$(basename "$log" .log): $(tr '\r' '\n' <"$log" | tail -n 1 | cut -c1-90)"; done | head -40
    python3 "$here/wins/table.py" "$results/$part" 2>&1 | cut -c1-200 | head -60
  done
  cat "$results/chosen.txt" 2>/dev/null || true
  [ -z "${4:-}" ] || (cd "$results" && find . -path '*/checkpoints' -prune -o \( -name '*.json' -o -name '*.rows' -o -name '*.log' -o -name '*.txt' -o -name '*.yaml' -o -name '*.tsv' -o -name metrics.jsonl \) -size -3000k -print0 | tar --null --ignore-failed-read -cJf "$4/results.part" -T - 2>/dev/null || true; mv "$4/results.part" "$4/results.tar.xz")
  ;;
*) usage ;;
esac
