#!/usr/bin/env bash
# Searches for settings with which GRPO beats its rivals, on validation tasks: many arms of `hone-learn`, several at once on a GPU.
#   experiments/gpu/wins.sh run FOLDER RESULTS [TRIAL...]   runs the trials that are not done yet (all, or those named), and prints the table
#   experiments/gpu/wins.sh list                            the trials: name, arms, flags, settings
#   experiments/gpu/wins.sh table RESULTS                   the table of what is done, RESULTS/table.json too
# FOLDER is what experiments/gpu/unpack.sh made. run starts as many as there is room for and waits at most $WAIT seconds (500); what runs outlives it: call it again
# to go on. $SEEDS ("4 5 6"), $JOBS at once on each GPU (6), $GPUS (0), $STEPS (80), $GROUPS_PER_STEP groups of 8 rollouts (16), $SHOWN kinds that the start is
# shown (8), $BACKEND (cuda), $MORE flags for all. The trials *_own are for tasks of another server, whose --dataset and --mcp-config $MORE names.
# A trial that failed stays so until its .log is removed. GRPO has as many trials as each rival.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}

# trials: NAME|ARMS|FLAGS|YAML. Flags come after those of all, so theirs win.
trials() {
  cat <<'TRIALS'
plain|grpo|--grpo-rate 3e-4|grpo: {advantage: centred}
mini|grpo|--grpo-rate 1.5e-4|grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3}
low|grpo|--grpo-rate 7e-5|grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3}
pools|grpo|--grpo-rate 1.5e-4|grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 3, pools: {skip_solved: 0.8}}
pools_low|grpo|--grpo-rate 7e-5|grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 3, pools: {skip_solved: 0.8}}
higher|grpo|--grpo-rate 1.5e-4|grpo: {advantage: centred, minibatches: 4, clip_high: 0.5, kl: {beta: 0.01, estimator: k3, gradient: k2}}
f32|grpo|--grpo-rate 1.5e-4|{engine: {dtype: f32}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 3, pools: {skip_solved: 0.8}}}
long|grpo|--grpo-rate 1e-4 --steps 160|grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 3, pools: {skip_solved: 0.8}}
hot|grpo|--grpo-rate 1.5e-4|{rollout: {temperature: 1.3}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 3, pools: {skip_solved: 0.8}}}
imitate|grpo|--grpo-rate 1.5e-4|{rollout: {temperature: 1.3}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 3, pools: {skip_solved: 0.8}, imitation: {rows: 16}}}
imitate_more|grpo|--grpo-rate 7e-5|{rollout: {temperature: 1.3}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 3, pools: {skip_solved: 0.8}, imitation: {rows: 32, weight: 2}}}
explore|grpo|--grpo-rate 1.5e-4|{rollout: {temperature: 1.3}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 16}, explorations: 8}}
explore_more|grpo|--grpo-rate 1.5e-4|{rollout: {temperature: 1.3}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 32}, explorations: 16}}
entropy|grpo|--grpo-rate 1.5e-4|grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 3, pools: {skip_solved: 0.8}, entropy: {coefficient: 0.005, target: 0.1, delta: 0.002}}
wide|grpo|--grpo-rate 1.5e-4 --groups 8 --group-size 16|grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 3, pools: {skip_solved: 0.8}}
rivals_5e-5|rejection,continued|--sft-rate 5e-5|grpo: {advantage: centred}
rivals_1e-4|rejection,continued|--sft-rate 1e-4|grpo: {advantage: centred}
rivals_2e-4|rejection,continued|--sft-rate 2e-4|grpo: {advantage: centred}
rivals_3e-4|rejection,continued|--sft-rate 3e-4|grpo: {advantage: centred}
rivals_5e-4|rejection,continued|--sft-rate 5e-4|grpo: {advantage: centred}
rivals_8e-4|rejection,continued|--sft-rate 8e-4|grpo: {advantage: centred}
rivals_hot|rejection,continued|--sft-rate 3e-4|{rollout: {temperature: 1.3}, grpo: {advantage: centred}}
rivals_wide|rejection,continued|--sft-rate 3e-4 --groups 8 --group-size 16|grpo: {advantage: centred}
rivals_f32|rejection,continued|--sft-rate 2e-4|{engine: {dtype: f32}, grpo: {advantage: centred}}
rivals_long|rejection,continued|--sft-rate 2e-4 --steps 160|grpo: {advantage: centred}
rejection_long|rejection|--sft-rate 2e-4 --steps 160|grpo: {advantage: centred}
continued_long|continued|--sft-rate 2e-4 --steps 160|grpo: {advantage: centred}
rivals_more|rejection,continued|--sft-rate 2e-4 --steps 200|grpo: {advantage: centred}
rivals_more_1e-4|rejection,continued|--sft-rate 1e-4 --steps 200|grpo: {advantage: centred}
rivals_more_4e-4|rejection,continued|--sft-rate 4e-4 --steps 200|grpo: {advantage: centred}
rivals_more_hot|rejection,continued|--sft-rate 2e-4 --steps 200|{rollout: {temperature: 1.3}, grpo: {advantage: centred}}
from_best|grpo|--grpo-rate 1.5e-4 --shown-kinds 0 --epochs 68|{sft: {optimizer: {learning_rate: 3e-4}}, rollout: {temperature: 1.3}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 16}, explorations: 8}}
from_best_low|grpo|--grpo-rate 7e-5 --shown-kinds 0 --epochs 68|{sft: {optimizer: {learning_rate: 3e-4}}, rollout: {temperature: 1.3}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 16}, explorations: 8}}
from_best_hot|grpo|--grpo-rate 1.5e-4 --shown-kinds 0 --epochs 68|{sft: {optimizer: {learning_rate: 3e-4}}, rollout: {temperature: 1.8}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 3, pools: {skip_solved: 0.8}, imitation: {rows: 16}, explorations: 8}}
from_best_entropy|grpo|--grpo-rate 1.5e-4 --shown-kinds 0 --epochs 68|{sft: {optimizer: {learning_rate: 3e-4}}, rollout: {temperature: 1.3}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 3, pools: {skip_solved: 0.8}, imitation: {rows: 16}, explorations: 8, entropy: {coefficient: 0.005, target: 0.1, delta: 0.002}}}
from_sft|grpo|--grpo-rate 1.5e-4 --shown-kinds 0|{rollout: {temperature: 1.3}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 16}, explorations: 8}}
from_base|grpo|--grpo-rate 1.5e-4 --shown-kinds 0 --demonstrations 16 --epochs 1|{sft: {optimizer: {learning_rate: 1e-12}}, rollout: {temperature: 1.3}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 16}, explorations: 8}}
from_base_cool|grpo|--grpo-rate 1.5e-4 --shown-kinds 0 --demonstrations 16 --epochs 1|{sft: {optimizer: {learning_rate: 1e-12}}, rollout: {temperature: 1}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 16}, explorations: 8}}
quiet|grpo|--grpo-rate 1.5e-4 --steps 50 --shown-kinds 0|{rollout: {temperature: 1.3}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3}}
noisy|grpo|--grpo-rate 1.5e-4 --steps 50 --shown-kinds 0 --reward-noise 0.2|{rollout: {temperature: 1.3}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3}}
turns|grpo|--grpo-rate 1.5e-4 --steps 40|grpo: {advantage: centred, credit: {level: turn, discount: 1}}
turns_progress|grpo|--grpo-rate 1.5e-4 --steps 40|grpo: {advantage: centred, credit: {level: turn, discount: 0.9, progress: 0.5}}
episodes|grpo|--grpo-rate 1.5e-4 --steps 40|grpo: {advantage: centred}
hot_own|grpo|--grpo-rate 1.5e-4 --steps 40|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {temperature: 1.3, max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 3, pools: {skip_solved: 0.8}}}
explore_own|grpo|--grpo-rate 1.5e-4 --steps 40|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {temperature: 1.3, max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 16}, explorations: 8}}
explore_more_own|grpo|--grpo-rate 1.5e-4 --steps 48|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {temperature: 1.3, max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 32}, explorations: 16}}
cool_own|grpo|--grpo-rate 1.5e-4 --steps 48|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {temperature: 1, max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 32}, explorations: 16}}
cool_kl_own|grpo|--grpo-rate 1.5e-4 --steps 48|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {temperature: 1, max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred, kl: {beta: 0.02, estimator: k3, gradient: k2}, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 32}, explorations: 16}}
demonstrate_kl_own|grpo|--grpo-rate 1.5e-4 --steps 48|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {temperature: 1, max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred, kl: {beta: 0.02, estimator: k3, gradient: k2}, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 32}, explorations: 16, demonstrations: {rows: 32}}}
raft_own|grpo|--grpo-rate 1.5e-4 --steps 48|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {temperature: 1, max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred, loss: raft, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 32}, explorations: 16, demonstrations: {rows: 32}}}
taught_own|grpo|--grpo-rate 1.5e-4 --steps 48|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {temperature: 1, max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred, kl: {beta: 0.02, estimator: k3, gradient: k2}, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 32}, explorations: 16, demonstrations: {rows: 32}, distillation: {weight: 0.1}}}
demonstrate_own|grpo|--grpo-rate 1.5e-4 --steps 48|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {temperature: 1.3, max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 32}, explorations: 16, demonstrations: {rows: 32}}}
demonstrate_phi_own|grpo|--grpo-rate 1.5e-4 --steps 48|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {temperature: 1.3, max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 1, pools: {skip_solved: 0.8}, imitation: {rows: 32}, explorations: 16, demonstrations: {rows: 32, weight: 4, phi: true}}}
imitate_own|grpo|--grpo-rate 1.5e-4 --steps 40|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {temperature: 1.3, max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred, minibatches: 4, negative_weight: 0.3, resample: 3, pools: {skip_solved: 0.8}, imitation: {rows: 16}}}
rivals_own|rejection,continued|--sft-rate 2e-4 --steps 100|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred}}
rft_own|rft|--sft-rate 1e-4 --steps 72 --group-size 10|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred}}
rejection_slow_own|rejection|--sft-rate 1e-4 --steps 72|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred}}
rejection_own|rejection|--sft-rate 2e-4 --steps 72|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred}}
rejection_fast_own|rejection|--sft-rate 4e-4 --steps 72|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred}}
continued_slow_own|continued|--sft-rate 1e-4 --steps 72|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred}}
continued_own|continued|--sft-rate 2e-4 --steps 72|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred}}
continued_more_own|continued|--sft-rate 2e-4 --steps 90|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred}}
continued_fast_own|continued|--sft-rate 4e-4 --steps 72|{model: {context: 2560}, mcp: {allow_findings: ['*'], max_tools: 8}, sft: {epochs: 2, batch_size: 16, optimizer: {learning_rate: 1e-3}}, rollout: {max_turns: 4, max_tokens: 128, max_tool_calls: 6, max_result: 256}, grpo: {advantage: centred}}
TRIALS
}

# start GPU RESULTS NAME SEED ARMS FLAGS YAML
start() {
  local gpu=$1 results=$2 name=$3 seed=$4 arms=$5 flags=$6 yaml=$7 at="$2/$3-$4"
  printf '%s\n' "$yaml" >"$at.yaml"
  rm -rf "$at.run"
  # shellcheck disable=SC2086
  HERE=$here CUDA_VISIBLE_DEVICES=$gpu setsid nohup bash -c 'out=$1; shift; "$@" >"$out.part" 2>"$out.log" </dev/null && python3 "$HERE/wins/rows.py" "$out.run" >"$out.rows" 2>>"$out.log" && mv "$out.part" "$out.json" || echo "exit code $?" >>"$out.log"' trial "$at" \
    hone-learn --config "$at.yaml" --plain --yes --sandbox "${SANDBOX:-off}" --backend "${BACKEND:-cuda}" --split validation --seed "$seed" --shown-kinds "${SHOWN:-8}" \
    --steps "${STEPS:-80}" --groups "${GROUPS_PER_STEP:-16}" --group-size 8 --arms "$arms" --output-dir "$at.run" $flags ${MORE:-} >/dev/null 2>&1 9>&- &
  echo "$!" >"$at.pid"
}

# alive RESULTS GPU: how many trials run there, those of folders beside RESULTS too
alive() {
  local n=0 f
  for f in "$(dirname "$1")"/*/*.gpu; do
    [ -e "$f" ] || continue
    f=${f%.gpu}.pid
    [ -e "$f" ] || continue
    if [ "$(cat "${f%.pid}.gpu")" = "$2" ] && kill -0 "$(cat "$f")" 2>/dev/null; then n=$((n + 1)); fi
  done
  echo "$n"
}

# fill RESULTS TRIAL...: starts what there is room for, on the GPU with the fewest runs; says how many have not ended.
fill() {
  local results=$1 left=0 name seed arms flags yaml gpu runs at
  shift
  while IFS='|' read -r name arms flags yaml; do
    [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
    for seed in ${SEEDS:-4 5 6}; do
      at="$results/$name-$seed"
      [ ! -e "$at.json" ] || continue
      if [ -e "$at.log" ]; then
        if kill -0 "$(cat "$at.pid")" 2>/dev/null; then left=$((left + 1)); fi
        continue
      fi
      left=$((left + 1))
      read -r runs gpu < <(for gpu in ${GPUS:-0}; do echo "$(alive "$results" "$gpu") $gpu"; done | sort -n -s -k1,1)
      if [ "$runs" -lt "${JOBS:-6}" ]; then
        echo "$gpu" >"$at.gpu"
        start "$gpu" "$results" "$name" "$seed" "$arms" "$flags" "$yaml"
        touch "$at.log"
      fi
    done
  done < <(trials)
  echo "$left"
}

case ${1:-} in
list) trials ;;
table) python3 "$here/tables/wins.py" "$2" ;;
run)
  [ $# -ge 3 ] || usage
  results=$(realpath -m "$3")
  mkdir -p "$results"
  cd "$2"
  . ./env.sh
  shift 3
  for ((waited = 0; waited <= ${WAIT:-500}; waited += 5)); do
    left=$({ flock 9 && fill "$results" "$@"; } 9>"$(dirname "$results")/places.lock") # runs of other folders may look for room too
    [ "$left" != 0 ] || break
    sleep 5
  done
  echo "$left not done"
  for log in "$results"/*.log; do
    if grep -q '^exit code' "$log"; then echo "failed: $log" && tail -n 5 "$log" | cut -c1-200; fi
  done
  python3 "$here/tables/wins.py" "$results"
  ;;
*) usage ;;
esac
