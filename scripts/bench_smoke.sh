#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# Runs every benchmark for a moment and looks at its output: that it is JSON and has all its fields, not how fast it is.
#
#   scripts/bench_smoke.sh [BUILD_FOLDER]     default build/release
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
readonly root
readonly build=${1:-$root/build/release}
unset OPENBLAS_CORETYPE "${!OMP_@}"

# check NAME FIELD...: each line of stdin that starts with { is an object with these fields, and there is at least one.
check() {
  python3 -c '
import json, sys
name, fields = sys.argv[1], sys.argv[2:]
objects = [json.loads(line) for line in sys.stdin if line.startswith("{")]
if not objects: sys.exit(f"bench_smoke: {name} printed no JSON line")
for o in objects:
    for field in fields:
        if field not in o: sys.exit(f"bench_smoke: {name}: field {field} is missing in {o}")
        if isinstance(o[field], float) and not o[field] == o[field]: sys.exit(f"bench_smoke: {name}: {field} is nan")
print(f"bench_smoke: {name}: {len(objects)} lines, all fields")
' "$@"
}

for program in apps/bora/bora bench/attention_rates bench/dot_bench bench/head_bench bench/experts_bench; do
  [ -x "$build/$program" ] || { echo "bench_smoke: $build/$program is not built" >&2; exit 1; }
done

"$build/apps/bora/bora" bench train --model quickstart --batch 2 --seq 64 --steps 2 |
  check 'bora bench train' model batch seq tokens_per_s step_ms step_ms_p95 matmul_share peak_rss_mb start_up_s mfu \
    gflops_per_s kernel_path threads cpu
"$build/apps/bora/bora" bench train --model quickstart --batch 2 --seq 64 --steps 1 --matmul mkl | grep '"kernel_path":"mkl ' |
  check 'bora bench train --matmul mkl' matmul_share
"$build/apps/bora/bora" bench generate --model quickstart --batch 2 --prompt 8 --tokens 4 |
  check 'bora bench generate' model weights batch prompt tokens prompt_tokens_per_s tokens_per_s step_ms share_of_memory_bandwidth
printf '\n\n' | "$build/apps/bora/bora" bench generate --model quickstart --prompt 8 --tokens 4 --weights int8 --paced |
  check 'bora bench generate --paced' prompts_s texts_s
"$build/bench/attention_rates" cpu 64 | check attention_rates by 'case' ms rate unit
"$build/bench/dot_bench" --rows 64 --seconds 0.01 --case c_proj |
  check dot_bench 'case' rows raw_ms named_ms ratio rounds
"$build/bench/head_bench" --rows 16 --embed 8 --vocab 100 --rounds 1 |
  check head_bench head rows embed vocab ms ratio processor_ms processor_ratio
"$build/bench/experts_bench" --tokens 32 --embed 16 --mlp 16 --rounds 1 |
  check experts_bench layer tokens embed mlp per_token ms ratio processor_ms processor_ratio
if [ -x "$build/bench/data_bench" ]; then
  "$build/bench/data_bench" --seconds 1 --rounds 1 | check data_bench loader_tokens_per_s seq_len
fi
if [ -x "$build/bench/collectives_bench" ] && command -v mpirun >/dev/null; then
  mpirun -n 2 --oversubscribe --allow-run-as-root --bind-to none "$build/bench/collectives_bench" --megabytes 1 \
    --rounds 2 | check collectives_bench workers megabytes
  mpirun -n 2 --oversubscribe --allow-run-as-root --bind-to none "$build/bench/ring_bench" --positions 256 --rounds 2 |
    check ring_bench workers ring_ms gathered_ms ratio
fi
python3 "$root/bench/compare.py" --bora "$build/apps/bora/bora" --only bora --models quickstart --batch 2 --seq 64 \
  --steps 2 --rounds 1 --retries 0 --verbose 2>&1 >/dev/null | sed 's/^bora: //' |
  check compare.py model step_ms seconds others
