#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# Builds the fuzz targets of tests/fuzz with clang and runs each for a while; one line each.
#
#   scripts/fuzz.sh [SECONDS [TARGET...]]     default 600 seconds each, all targets
#   scripts/fuzz.sh --smoke [TARGET...]       the seeds, and 12 seconds of inputs made of them in one fixed order; as many
#                                             targets at once as there are processors
#
# BORA_FUZZ_BUILD: the build folder, default build/fuzz; one that is configured with BORA_FUZZ=ON is used as it is. New inputs are kept below it, in corpus/TARGET, and go on from
# there the next time; those that fail lie in found/TARGET. Exit code 1 if there are any.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
readonly root
readonly build=${BORA_FUZZ_BUILD:-$root/build/fuzz}
smoke=
if [ "${1:-}" = --smoke ]; then smoke=yes; fi
readonly seconds=${1:-600} smoke
shift || true

mkdir -p "$build"
jobs=$(nproc)
if ! grep -q '^BORA_FUZZ:BOOL=ON' "$build/CMakeCache.txt" 2>/dev/null; then
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER="${CXX:-clang++}" \
    -DBORA_FUZZ=ON -DBORA_TORCH=OFF -DBORA_TESTS=OFF >"$build/build.log" 2>&1 || { cat "$build/build.log" >&2; exit 2; }
fi
ninja -C "$build" -j "${BORA_FUZZ_JOBS:-$jobs}" fuzzers >"$build/build.log" 2>&1 ||
  { tail -50 "$build/build.log" >&2; exit 2; }

if [ $# -eq 0 ]; then
  for source in "$root"/tests/fuzz/*_fuzz.cpp; do
    target=$(basename "$source" _fuzz.cpp)
    if [ -x "$build/tests/fuzz/${target}_fuzz" ]; then
      set -- "$@" "$target"
    else
      printf '%-15s not built: it needs the Arrow plug-in (scripts/setup.sh --arrow)\n' "$target"
    fi
  done
fi

# stat LOG NAME: one of libFuzzer's final figures.
stat() { sed -n "s/^stat::$2: *//p" "$1" | tail -1; }

# run TARGET: its line; false if it found something.
run() {
  local kept=$build/corpus/$1 found=$build/found/$1 log=$build/$1.log rc=0 verdict=ok
  local words=$root/tests/fuzz/words/$1
  # A frame of zstd may ask for a window of 2 GiB, of which only what is written takes memory.
  local flags=(-rss_limit_mb=2048 -malloc_limit_mb=2304 -max_len=8192 -print_final_stats=1 -artifact_prefix="$found/")
  if [ -n "$smoke" ]; then
    kept=$build/smoke/$1
    rm -rf "$kept"
    flags+=(-max_total_time=12 -seed=1 -timeout=20)  # a slow machine is no finding
  else
    flags+=(-max_total_time="$seconds" -timeout=1)
  fi
  if [ -f "$words" ]; then flags+=(-dict="$words"); fi
  mkdir -p "$kept" "$found"
  "$build/tests/fuzz/$1_fuzz" "$kept" "$root/tests/fuzz/corpus/$1" "${flags[@]}" >"$log" 2>&1 || rc=$?
  [ "$rc" = 0 ] || verdict="FAILED: $log, $found"
  printf '%-15s %9s runs %7s/s  coverage %5s  slowest %s s  %s\n' "$1" "$(stat "$log" number_of_executed_units)" \
    "$(stat "$log" average_exec_per_sec)" "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)" \
    "$(stat "$log" slowest_unit_time_sec)" "$verdict"
  [ "$rc" = 0 ] || tail -n 40 "$log"
  return "$rc"
}

failed=0
if [ -n "$smoke" ]; then
  running=0
  for target in "$@"; do
    if [ "$running" -ge "$jobs" ]; then wait -n || failed=1; else running=$((running + 1)); fi
    run "$target" &
  done
  for ((; running > 0; --running)); do wait -n || failed=1; done
else
  for target in "$@"; do run "$target" || failed=1; done
fi
exit $failed
