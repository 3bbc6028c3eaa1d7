#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# check.sh COMPILER LIST FOLDER: fails if the headers of LIST, below FOLDER, give a warning to a user who has asked for many.
set -euo pipefail
compiler=$1 list=$2 folder=$3
lines=$(sed -n 's,.*\(bora/.*\.h\)$,#include "\1",p' "$list")
if [ "$(wc -l <<<"$lines")" -lt 50 ]; then
  echo "$list: no list of the installed headers" >&2
  exit 1
fi
"$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Werror -I"$folder" -x c++ - <<<"$lines"
