# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# shellcheck shell=bash
# Sourced. A Slurm of one node for tests, with all its files in one folder, no accounting and no authentication but by
# being on this machine. Two partitions: jobs of `high` preempt those of `low`, which are requeued after GraceTime.

# slurm_missing: what is not installed; nothing if all is there.
slurm_missing() {
  local program
  for program in slurmctld slurmd srun sbatch scontrol squeue; do
    PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || { echo "$program"; return; }
  done
  [ "$(id -u)" = 0 ] || echo "the right to start slurmd (root)"
}

# start_slurm FOLDER: exports SLURM_CONF and waits until the node is there.
start_slurm() {
  local folder=$1 host
  host=$(hostname -s)
  mkdir -p "$folder/state" "$folder/spool"
  cat >"$folder/slurm.conf" <<CONF
ClusterName=bora
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort=$((20000 + $$ % 20000))
SlurmdPort=$((20001 + $$ % 20000))
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=2,preempt_send_user_signal
SchedulerType=sched/backfill
MpiDefault=none
JobRequeue=1
KillWait=15
InactiveLimit=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=low Nodes=$host Default=YES PriorityTier=1 GraceTime=60 MaxTime=INFINITE State=UP
PartitionName=high Nodes=$host PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE State=UP
CONF
  export SLURM_CONF=$folder/slurm.conf
  /usr/sbin/slurmctld -c
  /usr/sbin/slurmd
  local end=$((SECONDS + 30))
  while [ "$SECONDS" -lt "$end" ]; do
    sinfo --noheader --format=%T 2>/dev/null | grep -q idle && return
    sleep 0.5
  done
  echo "Slurm does not start:" >&2
  tail -n 5 "$folder"/*.log >&2
  return 1
}

# stop_slurm FOLDER: the daemons that start_slurm started; waits for their ends, since they write files until then.
stop_slurm() {
  local file daemon end=$((SECONDS + 20))
  scancel --user=root 2>/dev/null || true
  for file in "$1/slurmd.pid" "$1/slurmctld.pid"; do
    daemon=$(cat "$file" 2>/dev/null) || continue
    kill "$daemon" 2>/dev/null || continue
    while [ "$SECONDS" -lt "$end" ] && kill -0 "$daemon" 2>/dev/null; do sleep 0.1; done
  done
  return 0
}
