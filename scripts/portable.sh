#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   scripts/portable.sh [FOLDER]   bora-VERSION-linux-x86_64.tar.gz in FOLDER; default build/portable
#
# For machines without pip: unpacked anywhere, on any Linux with glibc 2.36 or newer, its bin/bora is the program. With
# libtorch, about 135 MB; without Arrow. Built on Debian 12.
set -euo pipefail
self=$(readlink -f -- "${BASH_SOURCE[0]}")
root=${self%/scripts/*}
. "$root/scripts/build.sh"
torch_folder
"$root/scripts/setup.sh"
build release bora bora_plugins
exec python3 "$root/scripts/bundle.py" portable "$root/build/release" "$torch" "${1:-$root/build/portable}"
