#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# The long forms of the tests of docs/reference/reliability.md, about an hour on two cores. Every run of ./test has a
# short form of each.
#
#   scripts/torture.sh [PART...]     parts: kills power flips tensors bits folders memory workers threads;
#                                    default: all
#
# BORA_SAFETENSORS_PYTHON: a Python that has `safetensors` and `numpy`, for `tensors`, which is left out without one.
# Programs are built in build/release first; `threads` builds the torch-free rooms in build/threads with
# ThreadSanitizer. Exit code 1 if a part fails.
set -uo pipefail
root=$(cd "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
cd "$root" || exit 1
. scripts/build.sh
torch_folder
jobs=$(build_jobs)
readonly release=build/release

# tests PROGRAM FILTER: fails if the filter finds no test.
tests() {
  local program
  program=$(find "$release" -type f -name "$1" -perm -u+x | head -n 1)
  "$program" --gtest_filter="$2" --gtest_brief=1 | tee build/torture_tests.log
  [ "${PIPESTATUS[0]}" = 0 ] && ! grep -q '^\[==========\] 0 tests' build/torture_tests.log
}

kills() {
  build release checkpoint_test store_test || return
  BORA_KILL_ROUNDS=1000 tests checkpoint_test 'Killed.*' && BORA_KILL_ROUNDS=200 tests store_test 'Robustness.Killed*'
}
power() {
  build release base_test checkpoint_test store_test || return
  BORA_TEST_POWER_LOSSES=10000 tests base_test 'PowerLossFiles.*' &&
    BORA_TEST_POWER_LOSSES=10000 tests checkpoint_test '*PowerLoss*' &&
    BORA_TEST_POWER_LOSSES=10000 tests store_test 'HubDurability.*'
}
flips() {
  build release checkpoint_test store_test || return
  BORA_TEST_FLIPS=10000 tests checkpoint_test 'DamagedCheckpoint.*' &&
    BORA_TEST_FLIPS=all tests store_test 'FlippedBits*'
}
tensors() {
  if [ -z "${BORA_SAFETENSORS_PYTHON:-}" ]; then
    echo "left out: BORA_SAFETENSORS_PYTHON names no Python with safetensors and numpy to compare with"
    verdict='left out'
    return
  fi
  build release checkpoint_test || return
  BORA_TEST_CHANGED_FILES=1000000 tests checkpoint_test 'SafetensorsOracle.*'
}
bits() {
  build release run_test || return
  BORA_TEST_BIT_FLIPS=1000 tests run_test 'BitFlips.*'
}
folders() {
  build release golden_test || return
  BORA_TEST_FILES=100000 tests golden_test 'Surroundings.*'
}
memory() {
  build release golden_test || return
  BORA_TEST_MEMORY_LIMITS=60 tests golden_test 'MemoryLimit.*'
}
workers() {
  build release golden_test || return
  BORA_TEST_FAILURES=100 tests golden_test 'WorkerFailures.AHundredInOneRun' &&
    BORA_TEST_STOPS=100 tests golden_test 'WorkerFailures.AHundredStops'
}
# libtorch knows nothing of the sanitizer, so that every lock inside of it would be a finding. Reads of mapped files leave
# their signal handler by a jump, after which the sanitizer takes all for the handler's: not told; and the signal stays
# blocked, so that tests of files that shrink are left out.
threads() {
  { cmake -S . -B build/threads -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBORA_TORCH=OFF \
    -DCMAKE_CXX_FLAGS=-fsanitize=thread -DCMAKE_EXE_LINKER_FLAGS=-fsanitize=thread &&
    ninja -C build/threads -j "$jobs"; } >build/threads.log 2>&1 || { show_failure build/threads.log; return 1; }
  # Left out too: lists of objects by Arrow's library, whose threads the sanitizer does not see whole, and kernels on
  # fibers, where it stops itself; and an end of memory, of which it takes most.
  GTEST_FILTER='-MapGuard*:*Shrinks*:Buckets.*:*MemoryThatEnds*' TSAN_OPTIONS=halt_on_error=1:report_signal_unsafe=0 \
    ctest --test-dir build/threads --output-on-failure --no-tests=error --timeout 3600 \
    --exclude-regex 'diagnostics|law|headers|hardening|cuda_kernels'
}

mkdir -p build
[ $# -gt 0 ] || set -- kills power flips tensors bits folders memory workers threads
failed=0
for part in "$@"; do
  case $part in
    kills | power | flips | tensors | bits | folders | memory | workers | threads) ;;
    *)
      echo "bora: torture: $part is not one of kills, power, flips, tensors, bits, folders, memory, workers, threads" >&2
      exit 2
      ;;
  esac
done
for part in "$@"; do
  start=$SECONDS verdict=ok
  printf '\n==== %s ====\n' "$part"
  "$part" || verdict=FAILED failed=1
  printf '==== %s: %s, %s s ====\n' "$part" "$verdict" $((SECONDS - start))
done
exit $failed
