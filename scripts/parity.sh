#!/bin/sh
# Makes every golden file anew from the implementations it stands for, and fails if one differs from what is committed;
# then compares logprobs with transformers and peft, and verdicts of calls with
# BFCL. $1 is a Python with testdata/reference/requirements.txt.
#
# A golden's script is called make_*.py, lies in a testdata folder or below, writes into it, needs no argument
# (make_tokenizer.py alone takes the model's file), and names its requirements.txt in its docstring's line "Needs:".
# Scripts run in the order of their names.
set -eu
cd "$(dirname "$0")/.."
case $1 in /*) peer=$1 ;; *) peer=$PWD/$1 ;; esac
model=$(bin/hone engine list --json | "$peer" -c '
import json, sys
print(next(a["path"] for a in json.load(sys.stdin) if a["name"] == "SmolLM2-135M-Instruct"))')

# A requirements.txt may ask for more of pip in a line that begins with "# pip:".
# python_for SCRIPT prints a Python that has what the script needs, making a virtual environment for each requirements.txt.
python_for() {
	needs=$(sed -n 's|.*Needs:.* \([a-z_/]*requirements\.txt\).*|\1|p' "$1" | head -n 1)
	if [ -z "$needs" ]; then
		echo "$1 names no requirements.txt in a line that begins with Needs:" >&2
		return 1
	fi
	[ -e "$needs" ] || needs=$(dirname "$1")/$needs # as it is written from the repository's root, or from the script
	if [ ! -e "$needs" ]; then
		echo "$1 needs $needs, which is not there" >&2
		return 1
	fi
	if [ "$needs" = testdata/reference/requirements.txt ]; then
		echo "$peer"
		return
	fi
	venv=$PWD/.venv-peer/$(sha256sum "$needs" | cut -c 1-12)
	if [ ! -e "$venv/ready" ]; then
		python3 -m venv --clear "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check $(sed -n 's/^# pip: //p' "$needs") -r "$needs" >&2
		touch "$venv/ready"
	fi
	echo "$venv/bin/python"
}

# The templates that make_chatml.py renders are hone's own.
go test -count=1 ./internal/text/render -run TestPromptEqualsTemplate -update
scripts=$(git ls-files '*/make_*.py')
failed=""
for script in $scripts; do
	echo "== $script"
	python=$(python_for "$script")
	argument=""
	case $script in */make_tokenizer.py) argument=$model ;; esac
	"$python" "$script" ${argument:+"$argument"} || failed="$failed $script"
done
"$peer" testdata/reference/near.py $(git diff --name-only -- 'testdata/reference/families/*.json.gz' testdata/reference/trl_steps.json)
changed=$(git status --porcelain -- $(echo "$scripts" | sed 's|testdata/.*|testdata|' | sort -u))
if [ -n "$changed" ]; then
	git --no-pager diff --stat
	echo "made anew, these differ from what is committed:" "$changed" >&2
	exit 1
fi
if [ -n "$failed" ]; then
	echo "these could not be run:$failed" >&2
	exit 1
fi
echo "all golden files are what their scripts make"

echo "== tests over the vendors' templates"
go test -count=1 ./internal/text/render ./internal/jinja -reference "${HONE_REFERENCE_CACHE:-$HOME/.cache/hone/reference}/templates"

echo "== testdata/reference/parity.py"
"$peer" testdata/reference/parity.py bin/hone

script=benchmarks/bfcl/testdata/parity.py
echo "== $script"
"$(python_for $script)" $script bin/hone-bench

echo "== huggingface_hub as the client of the Hub that tests push to"
script=internal/hub/testdata/peer.py
go test -count=1 ./internal/hub -run TestPeer -peer "$(python_for $script)"
echo "== the container image, as its readers see it"
sh scripts/image.sh .venv-peer/image
echo "== manifests, by the schemas of Kubernetes and of agent-sandbox"
sh scripts/manifests.sh .venv-peer/manifests "$(python_for scripts/manifests.sh)"
sh scripts/vllm.sh .venv-peer/vllm
if python3.12 --version >/dev/null 2>&1; then
	sh scripts/skyrl.sh .venv-peer/skyrl
else
	echo "there is no python3.12, so nothing is compared with SkyRL (scripts/skyrl.sh FOLDER PYTHON)" >&2
fi

for sink in tfevents mlflow wandb; do
	script=internal/run/metrics/testdata/$sink/parity.py
	echo "== $script"
	"$(python_for $script)" $script
done
changed=$(git status --porcelain -- internal/run/metrics)
if [ -n "$changed" ]; then
	echo "recorded anew, this differs from what is committed:" "$changed" >&2
	exit 1
fi

peers=internal/env/testdata
echo "== $peers/parity.py"
"$(python_for $peers/parity.py)" $peers/parity.py bin/hone "$peer" "$(python_for $peers/evaluate.py)"
