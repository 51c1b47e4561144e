#!/usr/bin/env bash
# Measures hone serve on one GPU at a large model's shape, with random weights: tokens a second and the time to the first token at 1, 8, 32
# and 64 streams of 512 tokens that ask for 128, beside the same requests of the sampler alone in the same run. serve_shared are streams whose
# prompts share all but the last 32 tokens, cold after one request of that beginning, and then where every slot in use holds it. serve_spread
# are clients that begin one after the other, each with a prompt of its own, and ask anew when their stream ends.
#   experiments/gpu/serve.sh prepare FOLDER        builds FOLDER/bench.xz (9 MB), and tries all rows on a tiny model on the CPU
#   experiments/gpu/serve.sh run FOLDER RESULTS    on the GPU's machine: writes RESULTS/serve.json and prints the table
# run needs jax's CUDA plug-in in python3's environment (experiments/gpu/env.sh), nothing else. $ROWS (see below), $SHAPE (4B), $LIMIT seconds for all (230).
# A row is written as it ends. All share one sampler's programs, which are compiled for the first.
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
one, ms = {}, lambda x: "" if x is None else f"{x:.0f} ms"
print("| what | streams | tokens/s | sampler alone | overhead | first token p50 | p95 | to one stream's | p95 alone | p95 cold | fed each | cold |")
print("|---" * 12 + "|")
for r in rows:
    m, (kind, _, n) = r.get("more") or {}, r["row"].split("@")[0].partition(":")
    if r.get("error"):
        print(f"| {kind} | {n} | {r['error'][:200]} |")
        continue
    p95 = m["ttft_p95_ms"]
    if n == "1":
        one[kind] = p95
    cells = [kind, n, f"{m['tokens_per_s']:.0f}"]
    cells += [f"{m['bare_tokens_per_s']:.0f}", f"{100 * m['overhead']:.1f}%"] if "overhead" in m else ["", ""]
    cells += [ms(m["ttft_p50_ms"]), ms(p95), f"{p95 / one[kind]:.2f}" if kind in one else "", ms(m.get("bare_ttft_p95_ms")), ms(m.get("cold_ttft_p95_ms"))]
    cells += [f"{m[k]:.0f}" if k in m else "" for k in ("fed_each", "cold_fed_each")]
    print("| " + " | ".join(cells) + " |")
PY
}
case $1 in
prepare)
  mkdir -p "$2"
  (cd "$here/../.." && GOEXPERIMENT=simd go build -trimpath -ldflags="-s -w" -o "$(realpath "$2")/bench" ./experiments/gpu/bench)
  "$2/bench" ${PLUGIN:+-plugin "$PLUGIN"} -toy -dtype f32 -repeat 2 -rows serve:1,serve:8,serve_shared:1,serve_shared:4,serve_spread:1,serve_spread:4 >"$2/toy.json"
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
  for r in ${ROWS:-serve:1 serve:8 serve:32 serve:64 serve_shared:1 serve_shared:32 serve_spread:1 serve_spread:8 serve_spread:32}; do rows=$rows${rows:+,}$r@${SHAPE:-4B}; done
  timeout "${LIMIT:-230}" "$bench" -plugin "$plugin" -repeat 3 -programs "$results/programs" -rows "$rows" >"$results/serve.json" || echo "the bench ended with $?"
  rm -rf "$results/programs"
  table "$results/serve.json"
  ;;
*) usage ;;
esac
