# Sourced by the scripts that run experiments/gpu/bench, with $bench and $results set: unpacks $bench where it is packed, and finds jax's
# CUDA plug-in ($plugin) and what it needs in python3's environment.
venv=${VIRTUAL_ENV:-$(python3 -c 'import sys; print(sys.prefix)')}
site=$(echo "$venv"/lib/python3*/site-packages)
if [[ $bench == *.xz ]]; then
  python3 -c "import lzma,shutil,sys; shutil.copyfileobj(lzma.open(sys.argv[1]), open(sys.argv[2],'wb'))" "$bench" "$results/../bench"
  bench=$(realpath "$results/../bench")
  chmod +x "$bench"
fi
# jax's CUDA plug-in looks for NVIDIA's libraries on the loader's path, and XLA for its device library.
export LD_LIBRARY_PATH=$(ls -d "$site"/nvidia/*/lib 2>/dev/null | tr "\n" ":" || true)${LD_LIBRARY_PATH:-}
cuda=$(ls -d "$site"/nvidia/cu13 "$site"/nvidia/cuda_nvcc /usr/local/cuda 2>/dev/null | head -1 || true)
export XLA_FLAGS="--xla_gpu_cuda_data_dir=$cuda ${XLA_FLAGS:-}"
plugin=$(ls "$site"/jax_plugins/xla_cuda*/xla_cuda_plugin.so 2>/dev/null | head -1 || true)
if [ -z "$plugin" ]; then
  echo "python3's environment ($venv) has no CUDA plug-in of jax: activate one with jax[cuda13]" >&2
  exit 2
fi
nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader
