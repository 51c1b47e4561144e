#!/usr/bin/env bash
# Measures hone serve on one GPU at a large model's shape, with random weights: tokens a second and the time to the first token at 1, 8, 32
# and 64 streams of 512 tokens that ask for 128, beside the same requests of the sampler alone in the same run.
#   gpu/serve.sh prepare FOLDER        builds FOLDER/bench.xz (9 MB), and tries all rows on a tiny model on the CPU
#   gpu/serve.sh run FOLDER RESULTS    on the GPU's machine: writes RESULTS/serve.json and prints the table
# run needs jax's CUDA plug-in in python3's environment (gpu/env.sh), nothing else. $ROWS (serve:1 serve:8 serve:32 serve:64), $SHAPE (4B),
# $LIMIT seconds for all (230). All rows share one sampler's programs, which are compiled for the first.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}
[ $# -ge 2 ] && [ "$1" != --help ] || usage
table() {
  python3 - "$1" <<'PY'
import json, sys
rows = [json.loads(l) for l in open(sys.argv[1])]
first = None
print("| streams | tokens/s | sampler alone | overhead | first token p50 | p95 | p95 alone |\n|---|---|---|---|---|---|---|")
for r in rows:
    m, n = r.get("more") or {}, r["row"].split("@")[0].split(":")[-1]
    if r.get("error"):
        print(f"| {n} | {r['error'][:200]} |")
        continue
    print(f"| {n} | {m['tokens_per_s']:.0f} | {m['bare_tokens_per_s']:.0f} | {100 * m['overhead']:.1f}% | {m['ttft_p50_ms']:.0f} ms | {m['ttft_p95_ms']:.0f} ms | {m['bare_ttft_p95_ms']:.0f} ms |")
    if n == "1":
        first = m["ttft_p95_ms"]
    if n == "32" and first:
        print(f"first token p95 at 32 streams: {m['ttft_p95_ms'] / first:.2f} times that of one")
PY
}
case $1 in
prepare)
  mkdir -p "$2"
  (cd "$here/.." && GOEXPERIMENT=simd go build -trimpath -ldflags="-s -w" -o "$(realpath "$2")/bench" ./gpu/bench)
  "$2/bench" ${PLUGIN:+-plugin "$PLUGIN"} -toy -dtype f32 -repeat 2 -rows serve:1,serve:8 >"$2/toy.json"
  table "$2/toy.json"
  python3 -c 'import lzma, sys; lzma.open(sys.argv[1] + ".xz", "wb", preset=6).write(open(sys.argv[1], "rb").read())' "$2/bench"
  ;;
run)
  [ $# -eq 3 ] || usage
  mkdir -p "$3"
  results=$(realpath "$3")
  bench=$(realpath "$2")/bench.xz # FOLDER/bench need not travel
  . "$here/env.sh" >"$results/gpu.txt"
  rows=
  for r in ${ROWS:-serve:1 serve:8 serve:32 serve:64}; do rows=$rows${rows:+,}$r@${SHAPE:-4B}; done
  timeout "${LIMIT:-230}" "$bench" -plugin "$plugin" -repeat 3 -programs "$results/programs" -rows "$rows" >"$results/serve.json" || echo "the bench ended with $?"
  rm -rf "$results/programs"
  table "$results/serve.json"
  ;;
*) usage ;;
esac
