#!/bin/sh
#SBATCH --job-name=hone
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --mem=0
#SBATCH --time=12:00:00
# TRL on four nodes, with a server of episodes on each of them: a rank speaks with the one of its own node, so nothing
# of an episode crosses the network, and no key is needed. sbatch docs/cluster/slurm.sh, in the folder of hone.yaml,
# .mcp.json, scenarios.json, rows.jsonl, hone_env.py and train.py.
set -eu
# One server a node, each with a run of its own.
srun --overlap --cpus-per-task=24 sh -c 'exec hone env serve --dataset scenarios.json --listen 127.0.0.1:8010 \
	--max-sessions 256 --output-dir "served/$SLURM_JOB_ID-$SLURM_PROCID"' &
served=$!
trap 'scancel --signal=TERM "$SLURM_JOB_ID.0"; wait $served' EXIT # of the first srun; hone then ends its servers
srun --overlap --cpus-per-task=1 sh -c 'n=0
	until curl --fail --silent http://127.0.0.1:8010/health >/dev/null; do
		n=$((n + 1)); [ $n -lt 300 ] || exit 1; sleep 1
	done'
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --overlap --cpus-per-task=40 torchrun --nnodes="$SLURM_NNODES" --nproc-per-node=8 --rdzv-backend=c10d \
	--rdzv-endpoint="$head:29500" train.py
