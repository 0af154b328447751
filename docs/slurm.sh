#!/bin/bash
# Train on several nodes with Slurm:    sbatch docs/slurm.sh ours/zinc runs/zinc
# All nodes must see this folder, the run directory and PFGNN_DATA. The same command goes on with a run.
#SBATCH --job-name=pfgnn
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=16
#SBATCH --time=12:00:00
# After the loss of a node, Slurm starts this file again, perhaps on other nodes.
#SBATCH --requeue
#SBATCH --open-mode=append
# Two minutes before the time is over, all processes end their update and write a checkpoint.
#SBATCH --signal=TERM@120

set -euo pipefail
config=$1 out=$2
source .venv/bin/activate
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

# --resume begins a new run if there is no checkpoint yet.
srun --kill-on-bad-exit=1 torchrun \
    --nnodes="$SLURM_JOB_NUM_NODES" \
    --nproc-per-node=gpu \
    --rdzv-id="$SLURM_JOB_ID" \
    --rdzv-backend=c10d \
    --rdzv-endpoint="$first:29500" \
    -m pfgnn train "$config" --out "$out" --resume
