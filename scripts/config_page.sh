#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   scripts/config_page.sh [--check] [PROGRAM]
#
# Writes docs/reference/config.md from what the program knows about its configuration. PROGRAM: another than ./bora.
# With --check it compares instead.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
. scripts/page.sh
page=docs/reference/config.md
check=
if [ "${1:-}" = --check ]; then
  check=--check
  shift
fi
program=${1:-./bora}

make_page() {
  cat <<'PAGE'
# Configuration

Every key of the YAML files that `bora train`, `eval` and `cache` read. This page is made from the program by
`scripts/config_page.sh`; a test compares the two. Names and most defaults are Levanter's.

- Files are read in the order given; of a key that several give, the last one counts. Maps are merged key by key, lists
  and values are replaced. `!include other.yaml` stands for the content of another file, relative to the one it is in.
- Paths are relative to the folder in which `bora` was started. A leading `~/` is the home folder, in files and on flags; `$HOME`
  and other variables are not replaced in them, and refused.
- `--trainer.seed=1` on the command line overrides a key, after all files. The value is YAML too:
  `--data.train_urls='["a.txt", "b.txt"]'`.
- A single value stands for a list of one. `[]` in a key means an element of a list, `<name>` a name of your choice.
- A duration is `90s`, `15m`, `2h`, `1d`, or a number of seconds. Every key can be left out; a default of `none` means
  that nothing is set.
- An unknown key, a value of the wrong type and a value that cannot work are errors. All of them are shown at once, with
  file and line, and nothing is started.
- `bora train FILES --print_config` prints the configuration with every default filled in. Each run keeps it as
  `config.yaml` in its directory.
PAGE
  "$program" --describe config
}

text=$(make_page)
put_page "$page" scripts/config_page.sh "$check" <<<"$text"
