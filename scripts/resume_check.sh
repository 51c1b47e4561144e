#!/usr/bin/env bash
# Shows that a killed demo gives the numbers of one left alone: scripts/resume_check.sh FOLDER [SEED]
# Runs the demo twice with one seed, the second time killing it (SIGKILL) in SFT and again in GRPO and resuming it,
# and compares results.json, but for what is measured in seconds. Run it where `hone demo` runs. With --full, since what a
# demo of some minutes does follows from the speed of the machine.
set -euo pipefail
out=$(realpath -m "$1") seed=${2:-1}
hone=${HONE:-bin/hone}
mkdir -p "$out"

config() { printf 'name: %s\nruns_dir: %s\nseed: %s\n' "$1" "$out" "$seed" >"$out/$1.yaml"; }

# killed STAGE STEPS COMMAND...: runs the command until the stage has so many steps, then kills it.
killed() {
  local stage=$1 steps=$2
  shift 2
  "$@" >>"$out/killed.json" 2>>"$out/killed.log" &
  local pid=$!
  until [ "$(cat "$out/killed/metrics.jsonl" 2>/dev/null | grep -c "\"stage\":\"$stage\"")" -ge "$steps" ]; do
    kill -0 $pid 2>/dev/null || { echo "the demo ended before $stage step $steps" >&2; return 1; }
    sleep 0.5
  done
  kill -9 $pid
  wait $pid 2>/dev/null || true
  echo "killed in $stage after $steps steps"
}

# numbers prints a run's results without times.
numbers() {
  python3 - "$1/results.json" <<'PY'
import json, sys
def clean(x):
    if isinstance(x, dict):
        return {k: clean(v) for k, v in x.items() if "second" not in k and "orchestration" not in k}
    return [clean(v) for v in x] if isinstance(x, list) else x
print(json.dumps(clean(json.load(open(sys.argv[1]))), indent=1, sort_keys=True))
PY
}

config whole
config killed
"$hone" demo --full --plain --config "$out/whole.yaml" >"$out/whole.json" 2>"$out/whole.log" &
whole=$!
[ -n "${ONE_AT_A_TIME:-}" ] && wait $whole
killed sft 7 "$hone" demo --full --plain --config "$out/killed.yaml"
killed grpo 3 "$hone" runs resume "$out/killed" --plain
"$hone" runs resume "$out/killed" --plain >>"$out/killed.json" 2>>"$out/killed.log"
wait $whole || true
numbers "$out/whole" >"$out/whole.numbers"
numbers "$out/killed" >"$out/killed.numbers"
diff "$out/whole.numbers" "$out/killed.numbers" && echo "the same numbers"
