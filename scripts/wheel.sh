#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   scripts/wheel.sh [FOLDER]   bora-VERSION-py3-none-manylinux_2_36_x86_64.whl in FOLDER; default build/wheel
#
# The program, its plug-ins and small libraries. libtorch is that of the package torch beside it, so that
#
#   pip install build/wheel/bora-*.whl
#
# gives the command bora on any Linux with glibc 2.36 or newer. Files of Parquet and Arrow need pyarrow too, which then
# pip install 'bora[arrow]' fetches. Built on Debian 12; with the CUDA plug-in where nvcc is, the NCCL plug-in where
# nccl.h and libnccl are too, and the cuDNN plug-in, whose headers scripts/setup.sh --cudnn fetches.
set -euo pipefail
self=$(readlink -f -- "${BASH_SOURCE[0]}")
root=${self%/scripts/*}
. "$root/scripts/build.sh"
torch_folder
"$root/scripts/setup.sh" --arrow
configure release # CMake looks for Arrow's wheel again
build release bora bora_plugins
if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
  "$root/scripts/setup.sh" --cudnn
  configure cuda # CMake looks for the headers again
  for plugin in bora_cuda bora_nccl bora_cudnn; do
    if grep -q "^build $plugin:" "$root/build/cuda/build.ninja"; then build cuda "$plugin"; fi
  done
  grep -q '^build bora_cuda:' "$root/build/cuda/build.ninja" || grep 'CUDA plug-in' "$root/build/cuda/build.log" >&2
fi
exec python3 "$root/scripts/bundle.py" wheel "$root/build/release" "${1:-$root/build/wheel}"
