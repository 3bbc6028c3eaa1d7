#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   scripts/on_gpu.sh [--torch DIR] [--bora PROGRAM] [--device WORD] [--limit SECONDS] [PART...]
#   scripts/on_gpu.sh --pack
#
# For the day a GPU is there: what can be seen on a GPU alone, within ten minutes. Exit code 77 without one, 1 if a part
# failed. Each part fails alone, and where it takes times it runs alone, too; all that it prints is in $OUT/PART.txt, its
# figures in $OUT/PART.json, and one line of each part in $OUT/summary.txt and summary.json; OUT is build/on_gpu by default.
# Without PART all of them:
#
#   load       versions, `bora doctor`, one training step
#   ops        the tests of core, named, mesh, nn and models with their arrays on the GPU
#   attention  cuDNN's and libtorch's FlashAttention against plain ops, each other and the CPU, the same bits twice, of
#              documents too
#   attention_rates   forward and backward by cuDNN, FlashAttention and plain operations at the models' shapes
#   parity     logits, hidden states and gradients of all reference models
#   training   twelve steps in fp32 against the CPU's
#   bits       the same run twice, after a resume, and of two workers (with mpirun): the same bits
#   bf16       the same of a run in bf16: attention by cuDNN or FlashAttention, and the copies that AdamW writes
#   fp8        the same in fp8, from compute capability 8.9 on
#   workers    two workers with a GPU each, messages by NCCL, against two on one, through the host: the same bits
#   graphs     the same bits with CUDA graphs and without, and the time of a step of both
#   experts    experts by one product against a product for each, the same bits twice and without CUDA graphs
#   offload    inputs of blocks on the host: the same bits, and less memory of the device
#   memcheck racecheck initcheck   compute-sanitizer over Bora's own kernels
#   memory     the most memory of a run in bf16 against what --dry_run has said
#   rates      matrix products, attention and copies at the models' shapes, in PyTorch
#   gpt2-124m gpt2-1.5b qwen2.5-1.5b llama-8b-8   training steps in bf16, in turn with PyTorch eager and torch.compile
#   waits      how often the host waits in a step: at most once
#   profile    the three slowest kernels of a step, and how long the GPU has nothing to do
#
# Needs Python 3 with PyTorch 2.11.0 for CUDA 13.0 (--torch: another folder `torch` of one) and no network. The program
# is PROGRAM, else the wheel in build/on_gpu_kit or build/wheel, else that of build/cuda or build/release. --pack, where
# it can be built, makes build/on_gpu_kit, at most 60 MB to carry beside the checkout: the wheel, the tests of `ops`, `attention` and
# `experts`, and what measures attention_rates, waits and profile.
set -euo pipefail
self=$(readlink -f -- "${BASH_SOURCE[0]}")
root=${self%/scripts/*}

pack() {
  local kit=$root/build/on_gpu_kit built=$root/build/release room tests=() size
  for room in core named mesh nn models attention experts; do tests+=("${room}_device_test"); done
  . "$root/scripts/build.sh"
  torch_folder
  rm -rf "$kit"
  "$root/scripts/wheel.sh" "$kit"
  build release "${tests[@]}" attention_rates gpu_trace
  python3 "$root/scripts/bundle.py" tests "$kit" "${tests[@]/#/$built/plugins/fake_device/}" \
    "$built/bench/attention_rates" "$built/bench/libgpu_trace.so"
  size=$(du --summarize --block-size=1MB "$kit" | cut -f1)
  if [ "$size" -gt 60 ]; then
    printf 'on_gpu: %s has %s MB, more than 60\n' "$kit" "$size" >&2
    return 1
  fi
  printf '%s  %s MB\n' "$kit" "$size"
}

# As the driver's own program says; in containers without it, by the device files.
has_gpu() {
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi -L 2>/dev/null | grep -q '^GPU '
  else
    compgen -G '/dev/nvidia[0-9]*' >/dev/null
  fi
}

if [ "${1:-}" = --pack ]; then
  pack
  exit
fi
if ! has_gpu; then
  echo 'on_gpu: skipped: no NVIDIA GPU here' >&2
  exit 77
fi
exec python3 -B "$root/scripts/on_gpu.py" "$@"
