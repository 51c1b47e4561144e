#!/bin/sh
# hone's trainer behind the Tinker API at a real server: SkyRL's, on its JAX backend and a CPU. Five steps of GRPO beside hone's engine
# on the same rollouts, then runs of which hone and the server are killed and that go on.
# Usage: scripts/skyrl.sh FOLDER [PYTHON]. FOLDER takes 1.3 GB: a virtual environment of PYTHON (python3.12), made once. Minutes on two
# cores; part of make parity.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
hone=$PWD/bin/hone
script=$PWD/scripts/skyrl_server.py
python=$folder/venv/bin/python
port=8975
url=http://127.0.0.1:$port
if [ ! -e "$folder/ready" ]; then
	"${2:-python3.12}" -m venv --clear "$folder/venv"
	"$python" -m pip install --quiet --disable-pip-version-check -r scripts/skyrl_requirements.txt
	"$python" -m pip install --quiet --disable-pip-version-check --no-deps skyrl==0.4.0
	touch "$folder/ready"
fi

work=$(mktemp -d "$folder/work.XXXX")
server=
trap 'stop; rm -rf "$work"' EXIT
"$python" scripts/skyrl_model.py "$work/base"

# start starts the server in a session of its own, since it starts its engine as another process.
start() {
	setsid "$python" "$script" --base-model "$work/base" --backend jax --port "$port" \
		--backend-config '{"max_lora_adapters":8,"max_lora_rank":8}' \
		--database-url "sqlite:///$work/server.db" --checkpoints-base "$work/checkpoints" >>"$folder/server.log" 2>&1 &
	server=$!
	n=0
	until "$python" -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=2)' "$url/api/v1/healthz" 2>/dev/null; do
		n=$((n + 1))
		[ $n -lt 300 ] || { echo "nothing answers at $url; see $folder/server.log" >&2; exit 1; }
		sleep 1
	done
}
stop() {
	[ -z "$server" ] || kill -9 -"$server" 2>/dev/null || true
	server=
}
start

echo "== five steps of GRPO at SkyRL and on hone's engine, on the same rollouts"
go test -count=1 -timeout 30m ./internal/llm/tinker -run TestAgainstAServer -v -args -url "$url" -base "$work/base"

echo "== runs that are killed, with their server, and go on"
cd "$work"
cat >hone.yaml <<Y
lora: {rank: 8}
sft: {batch_size: 2, epochs: 4, checkpoint_every: 1, optimizer: {max_grad_norm: 0, learning_rate: 0.005}}
trainer: {api: tinker, url: "$url", retries: 1}
engine: {backend: go}
seed: 3
Y
for word in a b c d; do
	echo '{"messages": [{"role": "user", "content": "Say '$word'."}, {"role": "assistant", "content": "'$word'"}]}'
done >say.jsonl
# until_step N waits until a run has taken so many steps, or has ended.
until_step() {
	until [ "$(cat broken/metrics.jsonl 2>/dev/null | wc -l)" -ge "$1" ]; do
		kill -0 "$child" 2>/dev/null || { echo "the run ended before step $1" >&2; exit 1; }
		sleep 0.1
	done
}
"$hone" -q sft --data say.jsonl --base-model base --output-dir whole
"$hone" -q sft --data say.jsonl --base-model base --output-dir broken &
child=$!
until_step 2
kill -9 $child
wait $child || true
"$hone" -q runs resume ./broken &
child=$!
until_step 4
stop
code=0
wait $child || code=$?
[ $code = 5 ] || { echo "a run whose server was killed ended with $code, and not with 5" >&2; exit 1; }
start
"$hone" -q runs resume ./broken
"$python" - <<'P'
from safetensors.numpy import load_file

whole, broken = (load_file(f"{run}/final/adapter_model.safetensors") for run in ("whole", "broken"))
apart = max(abs(whole[name] - broken[name]).max() for name in whole)
moved = max(abs(x).max() for name, x in whole.items() if "lora_B" in name)
print(f"the adapters of the unbroken run and of the one killed twice are {apart:.1e} apart; the largest number of B is {moved:.3f}")
assert apart < 1e-5 and moved > 1e-2
P
