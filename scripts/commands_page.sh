#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   scripts/commands_page.sh [--check] [PROGRAM]
#
# Writes docs/reference/commands.md from the --help of every command. PROGRAM: another than ./bora. With --check it
# compares instead.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
. scripts/page.sh
page=docs/reference/commands.md
check=
if [ "${1:-}" = --check ]; then
  check=--check
  shift
fi
program=${1:-./bora}

make_page() {
  local overview command
  overview=$("$program" --help)
  cat <<'PAGE'
# Commands

What each command says to `--help`. This page is made from the program by `scripts/commands_page.sh`; a test compares
the two. In a checkout the program is `./bora`; an installed one is `bora`.

A model is named by a run directory (its newest checkpoint counts), a checkpoint (`runs/name/step-N`), or a Hugging Face
directory. `train`, `eval` and `cache` take configuration files and `--key.key=value` overrides: see
[configuration](config.md).

```text
PAGE
  printf '%s\n```\n' "$overview"
  for command in $(sed -n 's/^  \([a-z-]*\)  *[a-z].*/\1/p' <<<"$overview"); do
    printf '\n## %s\n\n```text\n' "$command"
    "$program" "$command" --help | sed 's/ *$//' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
    printf '```\n'
  done
  cat <<'PAGE'

## Exit codes

| code | meaning |
|---|---|
| 0 | done |
| 1 | `diff` or `config diff` found a difference; or anything not below: something unsupported, sizes that do not fit, the operating system refused |
| 2 | usage or configuration: nothing was started |
| 3 | data or a checkpoint is missing or damaged; what `bora train` finds of that before it starts is one of the mistakes of code 2 |
| 4 | a loss, a gradient norm, weights or logits that are not finite: something must change first; nothing starts it again |
| 75 | stopped early and resumable: the same command goes on |

Errors go to the standard error output and begin with `bora: `.

## Environment

PAGE
  "$program" --describe environment
}

text=$(make_page)
put_page "$page" scripts/commands_page.sh "$check" <<<"$text"
