#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   scripts/check_wheel.sh [WHEEL]   default: the one in build/wheel
#
# Installs it with pip in an empty virtual environment, and trains 20 steps of the quickstart there and with the program
# of the checkout: the same bits. The package torch of that environment is the part of PyPI's wheel that setup.sh keeps.
set -euo pipefail
self=$(readlink -f -- "${BASH_SOURCE[0]}")
root=${self%/scripts/*}
. "$root/scripts/build.sh"
torch_folder
wheel=${1:-$(echo "$root"/build/wheel/bora-*.whl)}
folder=$root/build/wheel_check
rm -rf "$folder"
mkdir -p "$folder"
python3 -m venv --without-pip "$folder/env"
python3 -m pip --python "$folder/env/bin/python" install --quiet --no-deps --no-index --disable-pip-version-check "$wheel"
packages=$(echo "$folder"/env/lib/python3*/site-packages)

cd "$folder"
# refused STRING: what bora says where torch is not as it should be
refused() {
  local said
  ! said=$("$folder/env/bin/bora" version 2>&1) && [[ $said == *"$1"*'hint: pip install torch==2.11.0'* ]] && return
  printf 'not refused in the words "%s", but: %s\n' "$1" "$said" >&2
  return 1
}
refused 'bora: needs torch 2.11.0 in'
mkdir "$packages/torch"
echo "__version__ = '2.10.0+cpu'" >"$packages/torch/version.py"
refused 'which has 2.10.0'
echo "__version__ = '2.11.0+cpu'" >"$packages/torch/version.py"
ln -s "$torch/lib" "$packages/torch/lib"
ln -s "${torch%/*}/nvidia" "$packages/nvidia"

train() {
  "$@" train "$folder/env/share/bora/recipes/quickstart.yaml" --trainer.num_train_steps=20 --optimizer.warmup=5 \
    --trainer.id="$id" --sample.max_new_tokens=4 >"$id.log" 2>&1 || { cat "$id.log"; return 1; }
}
# No variable of this shell, and no library path, leads to what the checkout has.
id=wheel train env -i HOME="$HOME" PATH=/usr/bin:/bin "$folder/env/bin/bora"
id=tree train "$root/build/release/apps/bora/bora"
env -i "$folder/env/bin/bora" version
env -i "$folder/env/bin/bora" diff runs/wheel/step-20 runs/tree/step-20
