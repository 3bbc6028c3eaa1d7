#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# Writes docs/reference/diagnostics.md from the wrong programs of tests/diagnostics.
#
#   scripts/diagnostics_page.sh
#   scripts/diagnostics_page.sh --check SAID    compares instead, with what g++ said when the tests ran, in that folder
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/page.sh
export LC_ALL=C.UTF-8  # quotes as they are, and lines cut between characters
page=docs/reference/diagnostics.md

readonly said=${2:-}
compile() {
  if [ -n "$said" ]; then
    cat "$said/$(basename "$1" .cpp).GCC"
  else
    g++ -std=c++20 -fsyntax-only -fdiagnostics-color=never -I src -I tests/diagnostics "$1" 2>&1 || true
  fi
}

# What a person reads first: the error line itself and the constraint that failed, without paths and columns.
words() {
  compile "$1" |
    grep -E ' error: |required for the satisfaction|evaluated to' |
    sed -E 's|^[^ ]*/([^/ ]+):[0-9]+:[0-9]+:|\1:|; s|^([a-z_]+\.(cpp\|h)):[0-9]+:[0-9]+:|\1:|; s/bora:://g; s/auto:[0-9]+/auto/g' | sed -E '/evaluated to/d' | sed -E 's/^(.{260}).*/\1/' | head -3
}

make_page() {
  echo '# What the compiler says about wrong axes'
  echo
  echo 'Each program below is wrong. The tests compile it with g++ and clang++ and check the words. This page is made from'
  echo 'them by `scripts/diagnostics_page.sh`; the words shown are those of g++.'
  for program in tests/diagnostics/*.cpp; do
    grep -q '^// EXPECT-GCC: ' "$program" || continue
    echo
    echo "## $(sed -n 's|^// TITLE: ||p' "$program")"
    echo
    sed -n '/^#include "axes.h"/,$p' "$program" | tail -n +2 | grep -v '^#include' |
      sed -E 's|  // USER$||; 1i ```cpp' | sed '$a ```'
    echo
    echo '```text'
    words "$program"
    echo '```'
    echo
    echo "**Why.** $(sed -n '/^\/\/ WHY: /,/^\/\/ FIX: /p' "$program" | sed '/^\/\/ FIX: /d; s|^// WHY: ||; s|^// *||' | tr '\n' ' ' | sed 's/ *$//')"
    echo
    echo "**Fix.** $(sed -n '/^\/\/ FIX: /,/^\/\/ EXPECT/p' "$program" | sed '/^\/\/ \(EXPECT\|FIRST-LINES\)/d; s|^// FIX: ||; s|^// *||' | tr '\n' ' ' | sed 's/ *$//')"
  done
}

text=$(make_page)
put_page "$page" scripts/diagnostics_page.sh "${1:-}" <<<"$text"
