#!/usr/bin/env bash
# Runs experiments side by side on a machine that answers one call at a time, and brings back what they made:
#   experiments/gpu/together.sh start FOLDER NAME COMMAND   starts a command in FOLDER, where it outlives the call; FOLDER/NAME.log has what it says
#   experiments/gpu/together.sh wait FOLDER SECONDS [OUT]   waits until all have ended, or so long; says how far each is, and packs FOLDER's small files to OUT
# What was started under a name is not started again. An adapter of 135M is 18 MB, so weights stay: files above $MOST MiB (1) are left out.
set -euo pipefail
if [ $# -lt 3 ]; then
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
verb=$1 folder=$2
mkdir -p "$folder"
case $verb in
start)
  name=$3
  shift 3
  [ -e "$folder/$name.log" ] && exit 0
  setsid nohup bash -c 'log=$1; shift; "$@"; echo "exit code $?"' started "$folder/$name.log" "$@" >"$folder/$name.log" 2>&1 </dev/null &
  echo "$name: $!"
  ;;
wait)
  for ((i = 0; i < $3; i += 2)); do
    left=
    for log in "$folder"/*.log; do tail -n 1 "$log" | grep -q '^exit code' || left=1; done
    [ -n "$left" ] || break
    sleep 2
  done
  for log in "$folder"/*.log; do
    echo "$(basename "$log" .log): $(tr '\r' '\n' <"$log" | grep -vE '^([IWE][0-9]{4} .*|)$' | tail -n 3 | cut -c1-200 | paste -sd '|')"
  done
  [ -z "${4:-}" ] || (cd "$folder" && find . -type f -size "-$((${MOST:-1} * 1024))k" ! -name '*.safetensors' -print0 | tar --null -cJf "$4/$(basename "$folder").tar.xz" -T -)
  ;;
esac
