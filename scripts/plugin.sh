#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   scripts/plugin.sh arrow     fetches what the Arrow plug-in needs and builds it
#
# The program itself calls this where it runs from its checkout and meets the first file that needs the plug-in.
# Several workers may ask at once: one builds, the others wait and find it built.
set -euo pipefail
self=$(readlink -f -- "${BASH_SOURCE[0]}")
root=${self%/scripts/*}
. "$root/scripts/build.sh"
torch_folder
if [ "${1:-}" != arrow ] || [ $# != 1 ]; then
  echo 'usage: scripts/plugin.sh arrow' >&2
  exit 2
fi
mkdir -p "$root/build/release"
exec 8>"$root/build/release/lock"
flock 8
if [ ! -e "$root/build/release/plugins/arrow/libbora_arrow.so" ]; then
  echo 'bora: setting up the Arrow plug-in (a minute, once)' >&2
fi
"$root/scripts/setup.sh" --arrow 8>&-
configure release 8>&- # CMake looks for the wheel again
build release bora_arrow 8>&-
