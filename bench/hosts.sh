#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   bench/hosts.sh [--bora PROGRAM] [--model gpt2-124m] [--batch 8] [--seq 256] [--steps 5] [--rates "none 10gbit 1gbit"]
#                  [--out FOLDER]
#   bench/hosts.sh --command "build/release/bench/ring_bench --positions 8192" [--workers 4] [--rates ...]
#
# Two workers on two hosts that are network namespaces of this machine, joined by a virtual Ethernet cable whose two ends
# let through so much a second (tc tbf) and no more. Each host has its own name and addresses, so MPI and Bora take them
# for two machines: messages go over TCP, nothing over shared memory. Steps of data parallel and of sharded training, at
# each rate; a table with the time in communication and how much of it is overlapped, out of a timeline, which stays in
# FOLDER with a picture. Or another program, by as many workers, half of them on each host. Needs root, iproute2, mpirun,
# Python 3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bora=$here/../build/release/apps/bora/bora model=gpt2-124m batch=8 seq=256 steps=5 rates="none 10gbit 1gbit" command="" workers=2
out=${TMPDIR:-/tmp}/bora_hosts
while [ $# -gt 0 ]; do
  case $1 in
    --bora | --model | --batch | --seq | --steps | --rates | --out | --command | --workers) printf -v "${1#--}" '%s' "$2" ;;
    *) sed -n '5,7p' "$0" >&2 && exit 2 ;;
  esac
  shift 2
done
[ -n "$command" ] || bora=$(realpath "$bora")
for program in ip tc mpirun python3 unshare; do
  command -v "$program" >/dev/null || { echo "hosts.sh: $program is missing (apt-get install iproute2 openmpi-bin)" >&2 && exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "hosts.sh: network namespaces need root" >&2 && exit 1; }
mkdir -p "$out"

names=(bora-a bora-b)
take_down() {
  local name
  for name in "${names[@]}"; do
    ip netns delete "$name" 2>/dev/null || true
    rm -rf "/etc/netns/$name"
  done
}
trap take_down EXIT
take_down

# Names come from the hosts file that `ip netns exec` puts in the place of /etc/hosts.
for i in 0 1; do
  name=${names[$i]}
  ip netns add "$name"
  mkdir -p "/etc/netns/$name"
  printf '127.0.0.1 localhost\n10.77.0.1 bora-a\n10.77.0.2 bora-b\n' >"/etc/netns/$name/hosts"
done
ip link add cable0 netns bora-a type veth peer name cable1 netns bora-b
for i in 0 1; do
  ip -n "${names[$i]}" address add "10.77.0.$((i + 1))/24" dev "cable$i"
  ip -n "${names[$i]}" link set "cable$i" up
  ip -n "${names[$i]}" link set lo up
done

# shape RATE: both directions.
shape() {
  local i
  for i in 0 1; do
    tc -n "${names[$i]}" qdisc delete dev "cable$i" root 2>/dev/null || true
    [ "$1" = none ] || tc -n "${names[$i]}" qdisc add dev "cable$i" root tbf rate "$1" burst 512kb latency 20ms
  done
}

# on_host NAME COMMAND...: there, under its own name.
cat >"$out/on_host" <<'AGENT'
#!/bin/sh
# In place of ssh: enters a host that is a network namespace.
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"
AGENT
chmod +x "$out/on_host"

# on_both WORKERS PROGRAM ARGUMENT...: half of the workers on each host.
on_both() {
  local workers=$1
  shift
  "$out/on_host" bora-a env -u OPENBLAS_CORETYPE -u OMP_NUM_THREADS mpirun --allow-run-as-root \
    --host "bora-a:$((workers / 2)),bora-b:$((workers / 2))" -n "$workers" --bind-to none \
    --mca plm_rsh_agent "$out/on_host" --mca btl tcp,self --mca pml ob1 \
    --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 "$here/on_core.sh" "$@"
}

# steps_of LABEL OPTION...: one JSON line.
steps_of() {
  local label=$1
  shift
  on_both 2 "$bora" bench workers --model "$model" --batch "$batch" --seq "$seq" --steps "$steps" --lanes 2 \
    --trace "$out/$label.json" "$@"
}

if [ -n "$command" ]; then
  read -ra words <<<"$command"
  words[0]=$(realpath "${words[0]}")
  for rate in $rates; do
    shape "$rate"
    echo "$rate:"
    on_both "$workers" "${words[@]}"
  done
  exit
fi

echo "$model, $batch x $seq tokens, two workers of one thread, $steps steps"
echo
echo "| parameters | rate | worker | step ms | in communication ms | of the step | computing ms | overlapped |"
echo "|---|---|---|---:|---:|---:|---:|---:|"
for rate in $rates; do
  shape "$rate"
  for way in whole sharded; do
    options=()
    [ "$way" = sharded ] || options=(--whole)
    steps_of "$way-$rate" "${options[@]}" >"$out/$way-$rate.log" 2>&1 || { cat "$out/$way-$rate.log" >&2 && exit 1; }
    python3 "$here/timeline.py" "$out/$way-$rate.json" --markdown "$way | $rate" --svg "$out/$way-$rate.svg" \
      --title "$model, parameters $way, $rate: one step of two workers"
  done
done
