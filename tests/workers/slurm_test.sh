#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   slurm_test.sh BORA
#
# Workers under Slurm, on a cluster of one node that this starts and ends: srun's workers train the bits of one; a job
# that another one preempts stops with a checkpoint, is requeued and goes on, to the same bits. Exit code 77: skipped.
set -euo pipefail
bora=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/workers/slurm_cluster.sh
. "$here/slurm_cluster.sh"
missing=$(slurm_missing)
if [ -n "$missing" ]; then
  echo "skipped: no $missing (apt-get install slurmctld slurmd slurm-client)"
  exit 77
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/bora_slurm.XXXXXX")
trap 'stop_slurm "$folder/slurm"; rm -rf "$folder"' EXIT

fail() {
  echo "FAILED: $1"
  tail -n 20 "$folder"/*.log "$folder"/slurm/slurmctld.log
  exit 1
}

# until_true SECONDS COMMAND...
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.3
  done
}

words=(the moon is a compiler of dreams and light falls on water)
for ((i = 0; i < 6000; ++i)); do
  printf '%s ' "${words[(i * i + i / 7) % 12]}"
  [ $((i % 11)) != 10 ] || printf '.\n'
done >"$folder/text.txt"
cat >"$folder/config.yaml" <<CONFIG
data:
  train_urls: [text.txt]
  train_tokenizer: {vocab_size: 300}
  cache_dir: cache
model: {type: gpt2, seq_len: 32, hidden_dim: 32, num_heads: 4, num_layers: 2}
trainer:
  train_batch_size: 8
  num_train_steps: 1500
  lanes: 2
  threads: 1
  steps_per_eval: 0
  worker_timeout: 20
  checkpointer: {base_path: runs, save_interval: null, keep: [{every: 50}]}
optimizer: {learning_rate: 3e-3, warmup: 5}
CONFIG
cd "$folder"
train=("$bora" train config.yaml --quiet)
"${train[@]}" --trainer.id=alone >alone.log 2>&1 || fail "one worker"

mkdir slurm
start_slurm "$folder/slurm" || exit 1
if ! srun --mpi=list 2>&1 | grep -q pmix; then
  echo "skipped: this Slurm has no PMIx (apt-get install slurm-wlm-basic-plugins)"
  exit 77
fi

same_end() { "$bora" diff runs/alone/step-1500 "runs/$1/step-1500" | grep -q bit-equal; }

timeout 120 srun -n 2 --mpi=pmix "${train[@]}" --trainer.id=srun >srun.log 2>&1 || fail "srun"
same_end srun || fail "other bits under srun"
echo "srun: two workers, the bits of one"

cat >job.sh <<JOB
#!/usr/bin/env bash
trap '' TERM # the workers' alone
srun -n 2 --mpi=pmix ${train[*]} --trainer.id=job
code=\$?
echo "attempt \${SLURM_RESTART_COUNT:-0}: exit code \$code"
[ \$code != 75 ] || scontrol requeue "\$SLURM_JOB_ID"
exit \$code
JOB
rm -rf runs/job
job=$(sbatch --parsable --partition=low --ntasks=2 --requeue --open-mode=append --output=job.log job.sh)
until_true 60 test -e runs/job/step-100 || fail "no checkpoint of the job"
sbatch --partition=high --ntasks="$(nproc)" --output=high.log --wrap='sleep 3' >/dev/null
# A requeued job waits for two minutes, unless told otherwise.
gone() {
  scontrol update JobId="$job" StartTime=now 2>/dev/null || true
  [ -z "$(squeue --noheader --job="$job" 2>/dev/null)" ]
}
until_true 200 gone || fail "the job does not end: $(scontrol show job "$job" | head -4)"
grep -q 'attempt 0: exit code 75' job.log || fail "the preempted attempt"
grep -q 'attempt [1-9]: exit code 0' job.log || fail "the attempt after it"
same_end job || fail "other bits after the requeue"
echo "preemption: a checkpoint, exit code 75, requeued, the bits of one"
