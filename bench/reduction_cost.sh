#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   bench/reduction_cost.sh [--bora PROGRAM] [--model gpt2-124m] [--batch 8] [--seq 256] [--steps 3] [--rounds 3]
#                           [--workers "2 4"] [--lanes 0]
#
# What equal bits cost: steps of one-thread workers whose gradients are added by the fixed tree against steps with MPI's
# own all-reduce (trainer.reduction: fast), parameters whole on each. --lanes 0: one for each worker. Rounds alternate;
# the table has medians. Needs mpirun and Python 3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bora=$here/../build/release/apps/bora/bora model=gpt2-124m batch=8 seq=256 steps=3 rounds=3 workers="2 4" lanes=0
while [ $# -gt 0 ]; do
  case $1 in
    --bora | --model | --batch | --seq | --steps | --rounds | --workers | --lanes) printf -v "${1#--}" '%s' "$2" ;;
    *) sed -n '5,6p' "$0" >&2 && exit 2 ;;
  esac
  shift 2
done
bora=$(realpath "$bora")
root=()
[ "$(id -u)" != 0 ] || root=(--allow-run-as-root)

# step_ms WORKERS LANES OPTION...
step_ms() {
  local n=$1 parts=$2
  shift 2
  env -u OPENBLAS_CORETYPE -u OMP_NUM_THREADS mpirun "${root[@]}" -n "$n" --oversubscribe --bind-to none \
    "$here/on_core.sh" "$bora" bench workers --model "$model" --batch "$batch" --seq "$seq" --steps "$steps" \
    --lanes "$parts" --whole "$@" | python3 -c 'import json, sys; print(json.loads(sys.stdin.readlines()[-1])["step_ms"])'
}
median() { sort -g | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

echo "$model, $batch x $seq tokens, $rounds rounds of $steps steps, $(nproc) cores"
echo
echo "| workers | lanes | fixed ms | fast ms | fixed / fast |"
echo "|---:|---:|---:|---:|---:|"
for n in $workers; do
  parts=$lanes fixed='' fast=''
  [ "$lanes" != 0 ] || parts=$n
  for ((round = 0; round < rounds; ++round)); do
    fixed+=$(step_ms "$n" "$parts")$'\n'
    fast+=$(step_ms "$n" "$parts" --fast)$'\n'
  done
  a=$(printf %s "$fixed" | median) b=$(printf %s "$fast" | median)
  awk -v n="$n" -v l="$parts" -v a="$a" -v b="$b" 'BEGIN {printf "| %d | %d | %.0f | %.0f | %.3f |\n", n, l, a, b, a / b}'
done
