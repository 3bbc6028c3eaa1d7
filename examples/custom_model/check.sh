#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   check.sh PROGRAM     every command of a program with its own model, in a folder that goes away
set -euo pipefail
program=$1
root=$(cd "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat "$root"/docs/*/*.md >docs.txt
# step NAME WORDS command...: the command succeeds, and says WORDS
step() {
  local name=$1 words=$2
  shift 2
  if ! "$@" >"$name.log" 2>&1 || ! grep -q -e "$words" "$name.log"; then
    echo "$name: failed, or did not say '$words'"
    cat "$name.log"
    exit 1
  fi
  echo "$name: ok"
}
recipe=$root/examples/custom_model/bigram.yaml
short=(--trainer.num_train_steps=20 --trainer.lanes=2 --trainer.checkpointer.keep='[{every: 10}]')
"$program" train "$recipe" "${short[@]}" --trainer.stop_at_step=10 >stop.log 2>&1 || [ $? -eq 75 ]
step resume 'at step 10 of 20' "$program" train "$recipe" "${short[@]}"
step evaluate docs "$program" eval "$recipe"
step generate checkpoint "$program" generate runs/bigram 'A checkpoint' --max_new_tokens 5
step export 'hf$' "$program" export runs/bigram hf
step inspect bigram "$program" inspect runs/bigram/step-20
echo '[[1, 2, 3]]' >ids.json
step forward '' "$program" forward --model hf --ids ids.json --out out.safetensors
step types 'trigram is not known; did you mean `bigram`?; available: bigram, gpt2, .*, llama, .*, olmoe, gpt_oss' \
  bash -c '! "$0" train "$1" --model.type=trigram' "$program" "$recipe"
if command -v mpirun >mpirun.log; then
  step workers 'parameters sharded over them' "$program" launch -n 2 -- train "$recipe" "${short[@]}" --trainer.id=two
  step bits equal "$program" diff runs/bigram/step-20 runs/two/step-20
fi
