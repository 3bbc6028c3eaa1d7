#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   scripts/format.sh            formats every C++ and CUDA file, as .clang-format says
#   scripts/format.sh --check    changes nothing, lists the files that would change; exit code 1 if there are any
#
# With the clang-format that scripts/setup.sh --dev fetches: other versions format differently.
set -euo pipefail
cd "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."
readonly program=${BORA_DEPS:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/bora}/clang-format-18.1.8/clang-format
if [ ! -x "$program" ]; then
  echo "bora: format: $program is not there" >&2
  echo 'hint: scripts/setup.sh --dev' >&2
  exit 1
fi
files() { git ls-files -z '*.h' '*.cpp' '*.cu'; }
case "${1:-}" in
  '') files | xargs -0 -r -n 40 -P "$(nproc)" "$program" -i ;;
  --check)
    files | xargs -0 -r "$program" --dry-run -Werror 2>build/format.log && exit 0
    echo 'places that clang-format would change, by file:'
    sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: error: code should be.*/\1/p' build/format.log | sort | uniq -c
    grep -v 'code should be clang-formatted' build/format.log | grep -E 'error:|^Error' | head -n 20
    echo 'hint: scripts/format.sh'
    exit 1
    ;;
  *) echo "bora: format: unknown argument '$1'; usage: scripts/format.sh [--check]" >&2; exit 2 ;;
esac
