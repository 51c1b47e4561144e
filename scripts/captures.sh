#!/bin/sh
# Screens of hone as a person sees them, 100 columns by 30 lines, in docs/captures: a chat with a model of this machine that has a tool, the
# question before a call is sent, and the page on which traces are curated. All of it is real: the server of demo/, the installed model, a
# terminal (tmux). What the model says may change with the model. Run it where hone is built (make setup), with tmux installed.
#
# Usage: sh scripts/captures.sh [hone]     (default bin/hone)
set -eu
cd "$(dirname "$0")/.."
root=$PWD
hone=$(realpath "${1:-bin/hone}")
out=$root/docs/captures
work=$(mktemp -d)
socket=hone-captures-$$
trap 'tmux -L $socket kill-server 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$out" "$work/bin"
ln -s "$hone" "$work/bin/hone"
ln -s "$root/demo/node_modules" "$work/node_modules"
cd "$work"

cat > hone.yaml <<'EOF'
mcp: {config: mcp.json}
model: {base: SmolLM2-135M-Instruct, context: 2048}
scenarios: {file: scenarios.jsonl}
EOF
cat > mcp.json <<'EOF'
{"mcpServers": {"calc": {"command": "node", "args": ["node_modules/@coo-quack/calc-mcp/dist/index.js"], "isolation": "shared"}}}
EOF
for n in 12 15 18 21 24 27; do
	printf '{"id": "times-%s", "task": "How much is %s times 7?", "split": "train", "gold": [{"name": "math", "arguments": {"expression": "%s * 7"}}], "gold_answer": "%s", "checks": [{"type": "answer", "number": %s}]}\n' \
		$n $n $n $((n * 7)) $((n * 7))
done > scenarios.jsonl

# start COMMAND: in a new terminal of 100 by 30.
start() {
	tmux -L "$socket" -f /dev/null new-session -d -x 100 -y 30 -s screen \
		"env -u TMUX TERM=tmux-256color USER=ada PATH='$work/bin:$PATH' sh -c '$1; sleep 3600'"
	tmux -L "$socket" set-option -g status off
}
stop() { tmux -L "$socket" kill-session -t screen; }
keys() { tmux -L "$socket" send-keys -t screen "$@"; }
screen() { tmux -L "$socket" capture-pane -p -t screen; }

# within WHAT COMMAND...: until the command succeeds, five minutes at most. Each wait of this script is one.
most=300 # seconds
within() {
	what=$1
	shift
	ends=$(($(date +%s) + most))
	until "$@"; do
		[ "$(date +%s)" -lt "$ends" ] || { echo "after $most s there is not $what; the screen is:" >&2; screen >&2; exit 1; }
		sleep 0.2
	done
}
has() { screen | grep -q -e "$1"; }
prompts() { [ "$(screen | grep -c '^>')" = "$1" ]; }
traces() { [ -f traces/trajectories.jsonl ] && [ "$(wc -l < traces/trajectories.jsonl)" = "$1" ]; }

# await TEXT: until the screen has it.
await() { within "\"$1\"" has "$1"; }

# keep NAME: the screen as it is, without the blank lines at its end. A path of this machine in it is an error.
keep() {
	screen | sed -e 's/[[:space:]]*$//' -e :a -e '/^\n*$/{$d;N;ba' -e '}' > "$out/$1.txt"
	if grep -n -e "$work" -e "$root" -e "$HOME/" "$out/$1.txt"; then
		echo "docs/captures/$1.txt has a path of this machine" >&2
		exit 1
	fi
	echo "docs/captures/$1.txt"
}

# The question before a call is sent.
start "hone collect --gold -q --output-dir traces"
await 'Send it?'
keep approval
for i in 1 2 3 4 5; do
	keys y Enter
	await "episode: *$((i + 1)) of 6"
done
keys y Enter
within 'six traces' traces 6
stop

# The page of curation: the list, a trace, the rows that sft would learn, the keys.
start "hone curate traces/trajectories.jsonl"
await '6 of 6 traces'
keys a Down x
await 'reject, because'
keys -l 'the answer is bare'
keys Enter
await 'operation 2'
keys Down 5
await 'operation 3'
keep curate-list
keys Enter
await 'user, turn 1'
keep curate-trace
keys p
await '^row 1 of 1'
keys n
await '«'
keep curate-preview
keys Escape
await 'user, turn 1'
keys '?'
await 'In a trace'
keep curate-keys
stop

# A chat with a model that may call the tool. A base model of 135M makes a call only if it is told to the letter.
start "hone chat --model base --agent --max-tokens 60"
await '^>'
keys -l 'Repeat this and nothing else: <tool_call> {"name": "math", "arguments": {"expression": "12 * 7"}} </tool_call>'
keys Enter
await 'Send it?'
keys y Enter
await '<- ok'
within 'a second prompt' prompts 2
keys /help Enter
await '/save FILE'
keep chat
stop
