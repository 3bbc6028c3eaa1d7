#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   slurm_test.sh BORA
#
# Workers under Slurm, on a cluster of one node that this starts and ends: srun's workers train the bits of one; a job
# with the script of the manual, which is put back into the queue by hand (scontrol requeue) and then preempted by
# another one, gets the signal that it asked for, stops with a checkpoint each time and goes on, to the same bits. Exit
# code 77: skipped.
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
  tail -n 20 "$folder"/*.log "$folder"/slurm/*.log
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

# For the address sanitizer: MPI ends with memory in use, which is no leak of the program's.
export ASAN_OPTIONS=detect_leaks=0

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

# The script of the manual, with this run in the place of its own.
page=$here/../../docs/how_to/start_workers_with_slurm.md
awk '/^```$/ {inside = 0} inside; /^```bash$/ {inside = 1}' "$page" >manual.sh
grep -q 'bora train my.yaml --trainer.id=my_run$' manual.sh || fail "no script in $page"
sed "s|bora train my.yaml --trainer.id=my_run|$bora train config.yaml --trainer.id=job|" manual.sh >job.sh

states() { scontrol --oneliner show job "$job" 2>/dev/null; }
is() { states | grep -q "$1"; }
newest() { find runs/job -maxdepth 1 -name 'step-*' 2>/dev/null | sed -n 's/.*step-\([0-9]*\)$/\1/p' | sort -n | tail -1; }
reached() { [ "$(newest)" -ge "$1" ] 2>/dev/null; }
# A requeued job waits for two minutes, unless told otherwise. Told while the node still ends its last start (whose
# sockets are in the spool folder until then) or in the second in which that was ended, the new one would be refused as a
# second copy, or as what was ended, and the job would fail.
ended_on_node() { ! compgen -G "$folder/slurm/spool/*_$job.*" >/dev/null; }
now() { ! ended_on_node || scontrol update JobId="$job" StartTime=now 2>/dev/null || true; }
runs_again() { now && is "Restarts=$1 " && is 'JobState=RUNNING'; }
gone() { now && [ -z "$(squeue --noheader --job="$job" 2>/dev/null)" ]; }

job=$(sbatch --parsable --partition=low --ntasks=2 --cpus-per-task=1 --output=job.log job.sh)
until_true 60 reached 100 || fail "no checkpoint of the job"
scontrol requeue "$job"
sleep 2
until_true 90 runs_again 1 || fail "the job does not start again after scontrol requeue: $(states)"
until_true 60 reached $(($(newest) + 100)) || fail "no checkpoint after the requeue"
sbatch --partition=high --ntasks="$(nproc)" --output=high.log --wrap='sleep 3' >/dev/null
until_true 90 is 'Restarts=2 ' || fail "the job is not requeued after preemption: $(states)"
sleep 2
until_true 200 gone || fail "the job does not end: $(states)"
[ "$(grep -c '^stopped: step ' job.log)" = 2 ] || fail "stopped otherwise than twice"
[ "$(grep -c '(checkpoint verified)' job.log)" = 2 ] || fail "resumed otherwise than twice"
same_end job || fail "other bits after the requeues"
echo "scontrol requeue, preemption: each time a checkpoint, exit code 75, requeued; the bits of one"
