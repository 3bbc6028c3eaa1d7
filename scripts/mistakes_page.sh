#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   scripts/mistakes_page.sh [PROGRAM]
#
# Writes docs/reference/mistakes.md from the tables of tests/mistakes, if every message holds to them. PROGRAM:
# mistakes_test; default: that of build/release. The program itself compares the page where BORA_TEST_MISTAKES_PAGE is not
# set.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-build/release/tests/mistakes/mistakes_test}
if [ ! -x "$program" ]; then
  echo "bora: mistakes_page: $program is not there" >&2
  echo 'hint: ninja -C build/release mistakes_test' >&2
  exit 1
fi
BORA_TEST_MISTAKES_PAGE=docs/reference/mistakes.md.tmp "$program" --gtest_brief=1
mv docs/reference/mistakes.md.tmp docs/reference/mistakes.md
