#!/usr/bin/env bash
# Runs the engine's tests against jax's CUDA plug-in: experiments/gpu/contract.sh RESULTS TESTBINARY...   (or binaries packed by xz)
# Binaries are made, in the repository's root on any machine, by
#   for p in engine/stablehlo model sample train; do GOEXPERIMENT=simd go test -c -ldflags="-s -w" -o FOLDER/ ./internal/learn/$p; done
# Products of float32 are exact to float32 on CUDA too (the backend asks for the highest precision). Each binary may take $LIMIT seconds
# (240); $SKIP is a pattern of tests to leave out, at first those that want several devices. RESULTS gets a log for each.
set -euo pipefail
if [ $# -lt 2 ] || [ "$1" = --help ]; then
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
results=$(realpath -m "$1") failed=0
shift
mapfile -t binaries < <(realpath "$@") # what follows changes folders
mkdir -p "$results"
bench= # env.sh unpacks nothing
. "$here/env.sh"
# Many small programs: searching for the best kernel of each product takes minutes.
export XLA_FLAGS="--xla_gpu_enable_triton_gemm=false --xla_gpu_autotune_level=0 $XLA_FLAGS"
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
for packed in "${binaries[@]}"; do
  name=$(basename "$packed" .xz) && name=${name%.test}
  python3 -c "
import lzma, shutil, sys
with (lzma.open if sys.argv[1].endswith('.xz') else open)(sys.argv[1], 'rb') as x, open(sys.argv[2], 'wb') as y:
    shutil.copyfileobj(x, y)" "$packed" "$unpacked/$name.test"
  chmod +x "$unpacked/$name.test"
  cd "$(find "$here/../../internal/learn" -type d -name "$name" | head -1)" # tests read their testdata
  "$unpacked/$name.test" -test.v -test.timeout "${LIMIT:-240}s" -test.skip "${SKIP-SeveralDevices|NumberOfDevices|Sharded|NewFailsAsItsSamplersDo}" \
    -plugin "$plugin" >"$results/$name.log" 2>&1 && ok=1 || ok=0 failed=1
  count() { grep -c -- "--- $1" "$results/$name.log" || true; }
  echo "$name: $(count PASS) passed, $(count SKIP) skipped, $(count FAIL) failed"
  [ "$ok" = 1 ] || grep -A3 -E -- '--- FAIL|^panic|_test.go:[0-9]+:' "$results/$name.log" | cut -c1-300 | head -60 || true
done
exit "$failed"
