#!/usr/bin/env bash
# Fetches the packages of experiments/gpu/bench/peer.py that a GPU machine may lack into a folder that travels: experiments/gpu/wheels.sh [FOLDER]
# On the other machine: python3 -m pip install --no-index --no-deps --target SITE FOLDER/*.whl; export PYTHONPATH=SITE
set -euo pipefail
if [[ ${1-} == -* ]]; then
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
folder=${1:-$(dirname "$0")/wheels}
python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$folder" liger-kernel==0.8.5 peft==0.21.2
ls -l "$folder"
