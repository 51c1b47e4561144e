#!/usr/bin/env bash
# Unpacks the parts of experiments/gpu/pack.sh and prints the folder: experiments/gpu/unpack.sh FOLDER [INTO]
# To use it: cd INTO; . env.sh; hone ...
set -euo pipefail
if [ $# -lt 1 ] || [ "$1" = --help ]; then
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
from=$1 into=${2:-/tmp/hone}
mkdir -p "$into"
unxz() { if command -v xz >/dev/null; then xz -dc; else python3 -c "import lzma,shutil,sys; shutil.copyfileobj(lzma.open(sys.stdin.buffer), sys.stdout.buffer)"; fi; }
cat "$from"/pack.* | unxz | tar -x -C "$into"
# jax's CUDA plug-in looks for NVIDIA's libraries on the loader's path.
cat > "$into/env.sh" <<ENV
export PATH=$into/bin:\$PATH XDG_CACHE_HOME=$into/cache
export VIRTUAL_ENV=\${VIRTUAL_ENV:-\$(python3 -c 'import sys; print(sys.prefix)')}
# Hundreds of small programs: searching for the best kernel of each product takes minutes and gains seconds.
export XLA_FLAGS="--xla_gpu_enable_triton_gemm=false --xla_gpu_autotune_level=0"
export LD_LIBRARY_PATH=\$(ls -d \$VIRTUAL_ENV/lib/python3*/site-packages/nvidia/*/lib 2>/dev/null | tr '\n' ':')\${LD_LIBRARY_PATH:-}
ENV
echo "$into"
