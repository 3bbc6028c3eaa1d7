#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   scripts/cuda_spills.sh FILE.cu... [-- FLAGS...]
#
# Compiles kernels for sm_80, sm_90a and sm_100, and asks the assembler how many of a thread's numbers did not fit into
# its registers. Exit code 1, with the kernels' names, if there are any; 77 if there is no nvcc (NVCC, or on the PATH).
set -euo pipefail
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || { echo 'skipped: nvcc not found'; exit 77; }
files=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do files+=("$1") && shift; done
[ $# = 0 ] || shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
kernels=0 failed=0
for architecture in sm_80 sm_90a sm_100; do
  for file in "${files[@]}"; do
    "$nvcc" "$@" -arch="$architecture" -Xptxas -v -cubin -o "$folder/cubin" "$file" >"$folder/log" 2>&1 ||
      { cat "$folder/log"; exit 1; }
    # "Function properties for NAME", then "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
    if ! awk -v where="$file for $architecture" '
      /Function properties for/ { name = $NF }
      /bytes stack frame/ && ($1 != 0 || $5 != 0 || $9 != 0) { print where ": " name ": " $0; bad = 1 }
      END { exit bad }' "$folder/log" >"$folder/spills"; then
      failed=1
      if command -v c++filt >/dev/null; then c++filt <"$folder/spills"; else cat "$folder/spills"; fi
    fi
    kernels=$((kernels + $(grep -c 'bytes stack frame' "$folder/log" || true)))
  done
done
[ "$kernels" -gt 0 ] || { echo 'bora: cuda_spills: no kernel was compiled' >&2; exit 1; }
[ "$failed" = 0 ] && echo "$kernels kernels for sm_80, sm_90a and sm_100: all numbers are in registers"
exit "$failed"
