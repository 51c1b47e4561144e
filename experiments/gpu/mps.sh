#!/usr/bin/env bash
# Lets processes use one GPU at the same time, not in turns (CUDA's Multi-Process Service): a model of 135M alone leaves most of an H200 idle.
#   experiments/gpu/mps.sh start FOLDER    starts its daemon there, tries it, and writes FOLDER/env.sh, which clients read; empty where it cannot be had
#   experiments/gpu/mps.sh measure         the time that six processes of small kernels take, against one alone: with FOLDER/env.sh read, and without
#   experiments/gpu/mps.sh stop FOLDER
# It is a process of the user's own with a folder of its own, and changes no setting of the GPU.
set -euo pipefail
case ${1:-} in
start)
  mkdir -p "$2/pipe" "$2/log"
  folder=$(realpath "$2")
  : >"$folder/env.sh"
  control=$(PATH=$PATH:/usr/local/nvidia/bin command -v nvidia-cuda-mps-control) || { echo "there is no nvidia-cuda-mps-control" >&2 && exit 1; }
  export CUDA_MPS_PIPE_DIRECTORY=$folder/pipe CUDA_MPS_LOG_DIRECTORY=$folder/log
  setsid "$control" -d
  if ! timeout 60 python3 -c "import torch; assert torch.ones(4, device='cuda').sum().item() == 4" || ! grep -q . "$folder/log/server.log"; then
    echo quit | timeout 10 "$control" || true
    tail -n 3 "$folder"/log/*.log >&2 || true
    exit 1
  fi
  echo "export CUDA_MPS_PIPE_DIRECTORY=$folder/pipe CUDA_MPS_LOG_DIRECTORY=$folder/log" >"$folder/env.sh"
  cat "$folder/env.sh"
  ;;
measure)
  work="
import time, torch
x, w = torch.randn(128, 576, device='cuda'), torch.randn(576, 576, device='cuda') / 24
def run(n):
    y = x
    for _ in range(n): y = torch.tanh(y @ w)
    torch.cuda.synchronize()
run(100)
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    y = x
    for _ in range(200): y = torch.tanh(y @ w)
g.replay(); torch.cuda.synchronize()
import sys; print('ready', flush=True); sys.stdin.readline()
t = time.time()
for _ in range(500): g.replay()
torch.cuda.synchronize()
print(f'{time.time() - t:.2f}', flush=True)
"
  python3 - "$work" <<'P'
import subprocess, sys
for n in (1, 6):
    ps = [subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(n)]
    for p in ps:
        p.stdout.readline()
    for p in ps:
        p.stdin.write("\n"), p.stdin.flush()
    print(n, "at once:", *[p.stdout.readline().strip() for p in ps], "s", flush=True)
    for p in ps:
        p.wait()
P
  ;;
stop) CUDA_MPS_PIPE_DIRECTORY=$(realpath "$2")/pipe PATH=$PATH:/usr/local/nvidia/bin nvidia-cuda-mps-control <<<quit ;;
*)
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
  ;;
esac
