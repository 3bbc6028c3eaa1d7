#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# check.sh KIND COMPILER SOURCE INCLUDE...   compiles one wrong program: it must fail, with the expected words.
# KIND is GCC or CLANG and chooses the lines `// EXPECT-KIND: extended regular expression`. The words of the first must
# stand in the first three lines that the compiler says, and so must the number of the line that ends in `// USER`,
# where a program has one. What the compiler says is kept in the folder BORA_SAID, if that is set.
set -u
kind=$1 compiler=$2 source=$3
shift 3
includes=()
for folder in "$@"; do includes+=(-I "$folder"); done
mapfile -t expected < <(sed -n "s|^// EXPECT-$kind: ||p" "$source")
[ ${#expected[@]} -gt 0 ] || { echo "$source: no line // EXPECT-$kind:"; exit 1; }
output=$("$compiler" -std=c++20 -fsyntax-only -fdiagnostics-color=never "${includes[@]}" "$source" 2>&1) && {
  echo "$source compiles but should not"
  exit 1
}
if [ -n "${BORA_SAID:-}" ]; then
  mkdir -p "$BORA_SAID"
  printf '%s\n' "$output" >"$BORA_SAID/$(basename "$source" .cpp).$kind"
fi
line=$(grep -n '// USER$' "$source" | cut -d: -f1)
if [ -n "$line" ] && ! printf '%s\n' "$output" | head -3 | grep -qF -- "$(basename "$source"):$line:"; then
  printf '%s: line %s is not in the first three lines of what %s says\n%s\n' "$source" "$line" "$compiler" "$(printf '%s\n' "$output" | head -12)"
  exit 1
fi
lines=3
for words in "${expected[@]}"; do
  printf '%s\n' "$output" | head -n "$lines" | grep -qE -- "$words" || {
    printf '%s: expected words matching\n  %s\nbut %s says\n%s\n' "$source" "$words" "$compiler" "$(printf '%s\n' "$output" | head -40)"
    exit 1
  }
  lines=1000000  # that is for the first alone
done
