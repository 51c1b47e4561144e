#!/bin/sh
# Makes every golden file anew from the implementations it stands for, and fails if one differs from what is committed;
# then compares logprobs with transformers and peft. $1 is a Python with testdata/reference/requirements.txt.
#
# A golden's script is called make_*.py, lies in a testdata folder, takes the model's GGUF file as its argument (it need
# not use it), and writes beside itself. Scripts run in the order of their names.
set -eu
cd "$(dirname "$0")/.."
case $1 in /*) python=$1 ;; *) python=$PWD/$1 ;; esac
model=$(bin/hone engine list --json | "$python" -c '
import json, sys
print(next(a["path"] for a in json.load(sys.stdin) if a["name"] == "SmolLM2-135M-Instruct"))')

# The templates that make_chatml.py renders are hone's own.
go test -count=1 ./internal/text/render -run TestPromptEqualsTemplate -update
scripts=$(git ls-files '*/make_*.py')
for script in $scripts; do
	echo "== $script"
	"$python" "$script" "$model"
done
changed=$(git status --porcelain -- $(dirname $scripts | sort -u))
if [ -n "$changed" ]; then
	git --no-pager diff --stat
	echo "made anew, these differ from what is committed:" "$changed" >&2
	exit 1
fi
echo "all golden files are what their scripts make"

echo "== testdata/reference/parity.py"
"$python" testdata/reference/parity.py bin/hone
