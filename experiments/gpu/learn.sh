#!/usr/bin/env bash
# Runs `hone-learn` for several seeds at once on one GPU: experiments/gpu/learn.sh FOLDER RESULTS "FLAGS" SEED...
# FOLDER is what experiments/gpu/unpack.sh made; RESULTS gets seed-N.json and seed-N.log. The runs outlive this script, which
# waits at most $WAIT seconds (500): call it again to go on waiting.
set -euo pipefail
if [ $# -lt 4 ] || [ "$1" = --help ]; then
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
folder=$1 results=$(realpath -m "$2") flags=$3
shift 3
mkdir -p "$results"
cd "$folder"
. ./env.sh
for seed in "$@"; do
  [ -e "$results/seed-$seed.log" ] && continue
  # shellcheck disable=SC2086
  setsid nohup hone-learn --plain --backend cuda --seed "$seed" --output-dir "$folder/runs/seed-$seed" $flags \
    >"$results/seed-$seed.json" 2>"$results/seed-$seed.log" </dev/null &
done
for ((waited = 0; waited < ${WAIT:-500}; waited += 5)); do
  pgrep -x hone-learn >/dev/null || break
  sleep 5
done
for seed in "$@"; do
  echo "seed $seed:"
  tail -n "${TAIL:-4}" "$results/seed-$seed.log"
  cat "$results/seed-$seed.json"
done
