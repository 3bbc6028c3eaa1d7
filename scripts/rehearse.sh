#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   scripts/rehearse.sh [WHEEL]   default: the one in build/wheel, which scripts/wheel.sh makes
#
# Runs on a GPU, rehearsed without one: the wheel and libtorch's own part for CUDA on a stand-in for CUDA, which
# computes nothing but looks at all that it is asked for (tests/rehearsal/rehearse.py). Needs nvcc; what
# scripts/setup.sh --libtorch-cuda fetches is the other half of PyTorch's wheel, 530 MB, once.
set -euo pipefail
self=$(readlink -f -- "${BASH_SOURCE[0]}")
root=${self%/scripts/*}
. "$root/scripts/build.sh"
torch_folder
wheel=${1:-$(echo "$root"/build/wheel/bora-*.whl)}
cuda=${torch%/*/torch}/libtorch-cuda-2.11.0
if [ -e "$torch/lib/libtorch_cuda.so" ]; then
  cuda=${torch%/torch}
else
  "$root/scripts/setup.sh" --libtorch-cuda
fi
build cuda cuda_stand_in
exec python3 -B "$root/tests/rehearsal/rehearse.py" "$root/build/cuda" "$wheel" "$torch" "$cuda" "$root/build/rehearsal"
