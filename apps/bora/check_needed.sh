#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# check_needed.sh READELF PROGRAM: fails if PROGRAM loads libtorch. The command in front must not: that costs a third of
# a second before a mistake in a configuration is told.
set -euo pipefail
needed=$("$1" --wide --dynamic "$2" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if ! grep -q '^libc\.so' <<<"$needed"; then
  echo "$2: no libc among the needed libraries, so they were not read: $needed" >&2
  exit 1
fi
if wrong=$(grep -E 'torch|c10|gomp' <<<"$needed"); then
  printf '%s needs %s\nhint: link it with -Wl,-Map=FILE and look there for who pulls in an object that calls libtorch; a source that it needs stands behind FRONT in the CMakeLists.txt of its room\n' \
    "$2" "$(paste -sd ' ' <<<"$wrong")" >&2
  exit 1
fi
