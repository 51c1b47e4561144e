# For scripts that train with several seeds at once, or one after the other ($TURNS): sourced, not run.

# launch SCRIPT RESULTS LAST SEED...: runs SCRIPT one SEED in the background for each seed whose RESULTS/SEED/LAST is not there
# yet, waits at most $WAIT seconds (500), and says which seeds are not done. What runs outlives the script: called again, it goes
# on waiting.
launch() {
  local script=$1 results=$2 last=$3 seed pid left waited pids=()
  shift 3
  for seed in "$@"; do
    mkdir -p "$results/$seed"
    [ ! -e "$results/$seed/$last" ] || continue
    pid=$(cat "$results/$seed/pid" 2>/dev/null || true)
    if [ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null; then
      setsid nohup "$script" one "$seed" >>"$results/$seed/log" 2>&1 </dev/null &
      pid=$!
      echo "$pid" >"$results/$seed/pid"
      [ -z "${TURNS:-}" ] || wait "$pid" || true
    fi
    pids+=("$pid")
  done
  for ((waited = 0; waited < ${WAIT:-500}; waited += 2)); do
    left=
    for pid in "${pids[@]}"; do
      if kill -0 "$pid" 2>/dev/null; then left=1; fi
    done
    [ -n "$left" ] || break
    sleep 2
  done
  for seed in "$@"; do
    [ -e "$results/$seed/$last" ] || { echo "seed $seed is not done:"; tail -n 5 "$results/$seed/log"; }
  done
}

# whole COMMAND...: runs it; too many failed episodes (exit code 3) are a result too.
whole() { "$@" || [ $? = 3 ]; }
