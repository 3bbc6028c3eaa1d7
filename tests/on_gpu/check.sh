#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   check.sh PROGRAM TEST    PROGRAM: bora-run with the device of the tests; TEST: a room's tests on a device
#
# scripts/on_gpu.sh without a GPU: whether it skips, whether each part fails alone, is cut short and is told.
set -euo pipefail
program=$1 test=$2
self=$(readlink -f -- "${BASH_SOURCE[0]}")
root=${self%/tests/*}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OUT=$work/out PATH=$work/bin:$PATH PYTHONDONTWRITEBYTECODE=1
mkdir -p "$work"/{bin,kit,site/torch,checkout/scripts,checkout/bench,checkout/tests/parity/models}
# A checkout with few models.
cp "$root"/scripts/on_gpu* "$work/checkout/scripts"
cp -R "$root/bench/peers" "$work/checkout/bench"
models=$work/checkout/tests/parity/models
cp -R "$root"/tests/parity/models/tiny-{gpt2,llama-gqa-rope3,mixtral} "$models"
script=$work/checkout/scripts/on_gpu.sh

# stand_in FILE: a program of what comes on standard input
stand_in() { { echo '#!/bin/sh'; cat; } >"$work/$1" && chmod +x "$work/$1"; }

wrong() {
  printf '%s\n' "$*" >&2
  [ ! -e "$OUT/summary.txt" ] || cat "$OUT/summary.txt" >&2
  exit 1
}

# expect CODE ARGUMENT...: the exit code of the script; what it prints goes to $work/said.
expect() {
  local code=0 want=$1
  shift
  "$script" "$@" >"$work/said" 2>&1 || code=$?
  [ "$code" = "$want" ] || { cat "$work/said" >&2; wrong "exit code $code of on_gpu.sh $*, not $want"; }
}

# told STATUS PART TEXT: what the summary says of it
told() {
  grep -E "^$1 +$2 +[0-9]+ s  .*$3" "$OUT/summary.txt" >/dev/null || wrong "no line: $1 $2 $3"
  python3 -c 'import json, sys
part = next(p for p in json.load(open(sys.argv[1]))["parts"] if p["part"] == sys.argv[3])
sys.exit(part["status"] != sys.argv[2])' "$OUT/summary.json" "$1" "$2" || wrong "summary.json: $2 is not $1"
}

stand_in bin/nvidia-smi <<<'exit 9'
expect 77
[ "$(cat "$work/said")" = 'on_gpu: skipped: no NVIDIA GPU here' ] || wrong "$(cat "$work/said")"
[ ! -e "$OUT" ] || wrong 'a skipped day leaves files'

stand_in bin/nvidia-smi <<<'echo "GPU 0: a stand-in"'
echo 'raise RuntimeError("torch is a stand-in")' >"$work/site/torch/__init__.py"
ln -s "$program" "$work/kit/bora"
# shellcheck disable=SC2016  # it is the stand-in that expands it
stand_in kit/core_device_test <<<'[ "$TEST_DEVICE" = test ]'
stand_in kit/nn_device_test <<<'echo "a gradient is wrong"; exit 3'
stand_in bin/compute-sanitizer <<<'echo "========= ERROR SUMMARY: 0 errors"'
stand_in kit/attention_device_test <<<'echo "attention is wrong"; exit 4'
# shellcheck disable=SC2016  # as above
stand_in kit/experts_device_test <<<'[ "$TEST_DEVICE" = test ]'
expect 2 --bora "$work/kit/bora" opps
grep -q 'opps is not one of load, ops, attention, parity, training' "$work/said" || wrong "$(cat "$work/said")"

# The whole program, where a device computes. A machine that does much else takes its time.
day=(--torch "$work/site/torch" --device test)
expect 1 "${day[@]}" --limit 300 --bora "$work/kit/bora" ops attention parity training bits bf16 fp8 workers graphs experts offload memcheck rates
told ok load 'device of the tests'
told FAILED ops '^?nn_device_test: exit code 3: a gradient is wrong'
told FAILED attention '^?exit code 4: attention is wrong'
told ok parity '3 models, within'
told ok training "of the CPU's"
told ok bits 'the same bits twice, after a resume'
told ok bf16 'the same bits twice, after a resume'
told ok fp8 'the same bits twice, after a resume'
if command -v mpirun >/dev/null; then
  told ok workers 'the same bits from device to device as through the host: whole, sharded, divided'
else
  told skipped workers 'no mpirun for two workers'
fi
told ok graphs 'the same bits as without'
told ok experts 'the same bits twice and without graphs'
told ok offload 'the same bits; at most'
told ok memcheck 'ERROR SUMMARY: 0 errors'
told FAILED rates 'torch is a stand-in'
! grep -q profile "$OUT/summary.txt" || wrong 'a part that was not asked for'
# shellcheck disable=SC2016  # as above
stand_in kit/attention_device_test <<<'[ "$TEST_DEVICE" = test ]'
expect 0 "${day[@]}" --bora "$work/kit/bora" load attention
told ok attention 'the same bits twice'
expect 0 "${day[@]}" --bora "$work/kit/bora" attention_rates
told skipped attention_rates 'no attention_rates'
stand_in kit/attention_rates <<'END'
for rate in 500 300; do echo '{"by": "cuDNN 9.19.0", "case": "a", "rate": '$rate'}'; done
echo '{"by": "plain operations", "case": "a", "error": "out of memory"}'
END
expect 0 "${day[@]}" --bora "$work/kit/bora" attention_rates
told ok attention_rates 'cuDNN 9.19.0 up to 500 TFLOP/s'
stand_in kit/attention_rates <<<"echo '{\"by\": \"plain operations\", \"case\": \"a\", \"error\": \"out of memory\"}'"
expect 1 "${day[@]}" --bora "$work/kit/bora" attention_rates
told FAILED attention_rates 'out of memory'
cp "$root/tests/parity/models/tiny-mistral/reference.safetensors" "$models/tiny-mixtral"
expect 1 "${day[@]}" --bora "$work/kit/bora" parity
told FAILED parity '1 models; tiny-mixtral: '

# Tests that are not on the device they are told to be on would prove nothing.
! TEST_DEVICE=gpu "$test" >"$work/said" 2>&1 || wrong 'a device that is none is taken'
grep -q 'device: gpu is not one of cpu, cuda' "$work/said" || wrong "$(cat "$work/said")"

# A program that never ends, but for some words.
stand_in kit/slow <<'END'
case "$*" in
  version) echo 'Bora 0' ;;
  doctor*) echo '{"ok": true}' ;;
  bench*)
    echo '{"device": "a slow one", "tokens_per_s": 30}'
    [ -n "${GPU_TRACE:-}" ] || exit 0
    steps=$(echo "$*" | grep -o -e '--steps [0-9]*')
    i=$((20 + ${steps#* } * $(cat "$OUT.more") / 5))  # more in each step
    while [ $i -gt 0 ]; do
      echo 'wait,1,2,7,0,0,"cudaStreamSynchronize_v3020"'
      i=$((i - 1))
    done >"$GPU_TRACE"
    sed "s/second/$(cat "$OUT.second" 2>/dev/null || echo second)/" >>"$GPU_TRACE" <<'LINES'
kernel,0,1000000,7,0,0,"AdamWUpdate(int)"
wait,1000000,41000000,7,0,0,"cuCtxSynchronize"
kernel,1000000,41000000,7,2,0,"(anonymous namespace)::first<(int)8>(a, b(c))"
kernel,41000000,71000000,7,2,0,"second"
copy,71000000,91000000,7,2,64,"third"
kernel,96000000,101000000,7,0,0,"AdamWUpdate(int)"
kernel,101000000,1010
LINES
    ;;
  *) sleep 100 ;;
esac
END
expect 1 "${day[@]}" --bora "$work/kit/slow" --limit 5 training gpt2-124m waits
told ok load 'a slow one'
told FAILED training 'not done after 5 s'
told FAILED gpt2-124m 'eager: .*torch is a stand-in.*bora 30 tokens/s'
told skipped waits 'no libgpu_trace.so; scripts/on_gpu.sh --pack brings it'
touch "$work/kit/libgpu_trace.so"
echo 5 >"$OUT.more"
expect 0 "${day[@]}" --bora "$work/kit/slow" waits profile
told ok waits 'the host waits 1.0 times a step'
told ok profile '5.0 % idle; 40.0 % first<\(int\)8>; 30.0 % second; 20.0 % copy third$'
echo 'Backward<GeluTanh> after nvjet_sm90' >"$OUT.second"
echo 6 >"$OUT.more"
expect 1 "${day[@]}" --bora "$work/kit/slow" waits profile
told FAILED profile '30.0 % are GELU in kernels of its own, which products should have within them: '
told FAILED waits 'the host waits 1.2 times a step'

# One that does not compute on the device.
stand_in kit/none <<<'case "$*" in bench*) echo "bora: no such device"; exit 1 ;; *) echo "{\"ok\": true}" ;; esac'
expect 1 "${day[@]}" --bora "$work/kit/none" load parity rates
told FAILED load 'exit code 1: bora: no such device'
told skipped parity 'does not compute on test here: see load'
told FAILED rates 'torch is a stand-in'
