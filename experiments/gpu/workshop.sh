#!/usr/bin/env bash
# The training of docs/WORKSHOP.md on a GPU: success of SmolLM2-135M against the number of curated traces.
#   experiments/gpu/workshop.sh prepare DATA       makes the tasks, and what the teacher is shown; no model, no GPU, minutes
#   experiments/gpu/workshop.sh run DATA RESULTS   teacher, traces by hone serve, curation, pupils of 25, 50 and 100 traces, measure
# run prints the table, and leaves RESULTS/table.txt and RESULTS/results.json. It waits at most $WAIT seconds (500): call it again
# to go on waiting. Both need $HONE (hone) and $CALC, a folder with node_modules of calc-mcp (after experiments/gpu/unpack.sh: FOLDER/demo).
# $BACKEND (cuda), $SLOTS (32), and the sizes of docs/workshop/workshop.sh.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}
[ $# -ge 2 ] && [ "$1" != --help ] || usage
workshop=$here/../../docs/workshop/workshop.sh
export SANDBOX=${SANDBOX:-"off"}

case $1 in
prepare)
  [ $# = 2 ] || usage
  BACKEND=cpu "$workshop" "$2" shown
  (cd "$2" && mkdir kept && mv shown/trajectories.jsonl shown/catalog.json kept && rm -rf shown && mv kept shown) # the rest is a run's own
  ;;
one) # of run, in the background
  export BACKEND=${BACKEND:-cuda} SLOTS=${SLOTS:-32} AT_ONCE=1
  "$workshop" "$2" teacher traces curate train measure
  cp "$2/measured/results.json" "$2/results.json"
  ;;
run)
  [ $# = 3 ] || usage
  results=$(realpath -m "$3")
  pid=$(cat "$results/pid" 2>/dev/null || true)
  if [ ! -e "$results/results.json" ] && { [ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null; }; then
    rm -rf "$results"
    mkdir -p "$results"
    cp -r "$2/shown" "$results/"
    setsid nohup "$0" one "$results" >"$results/log" 2>&1 </dev/null &
    pid=$!
    echo $pid >"$results/pid"
  fi
  for ((waited = 0; waited < ${WAIT:-500}; waited += 2)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 2
  done
  [ -e "$results/results.json" ] || { tail -n 20 "$results/log"; exit 3; }
  grep '^|' "$results/log" | tee "$results/table.txt"
  ;;
*) usage ;;
esac
