#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# check.sh KIND COMPILER SOURCE INCLUDE...   compiles one wrong program: it must fail, with the expected words.
# KIND is GCC or CLANG and chooses the line `// EXPECT-KIND: extended regular expression`; `// FIRST-LINES: n` wants
# the words within the first n lines.
set -u
kind=$1 compiler=$2 source=$3
shift 3
includes=()
for folder in "$@"; do includes+=(-I "$folder"); done
expected=$(sed -n "s|^// EXPECT-$kind: ||p" "$source")
[ -n "$expected" ] || { echo "$source: no line // EXPECT-$kind:"; exit 1; }
output=$("$compiler" -std=c++20 -fsyntax-only -fdiagnostics-color=never "${includes[@]}" "$source" 2>&1) && {
  echo "$source compiles but should not"
  exit 1
}
lines=$(sed -n 's|^// FIRST-LINES: ||p' "$source")
printf '%s\n' "$output" | head -n "${lines:-1000000}" | grep -qE -- "$expected" && exit 0
printf '%s: expected words matching\n  %s\nbut %s says\n%s\n' "$source" "$expected" "$compiler" "$(printf '%s\n' "$output" | head -40)"
exit 1
