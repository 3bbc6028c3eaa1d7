#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   check.sh HARDENED READELF COMPILE_COMMANDS FILE...
#
# Every command of the compiler has the flags that harden, and every FILE has what they and the linker's make of it: a
# program or library at a place chosen by chance, closed relocations that are resolved before main, a stack that is
# data, a guard on it, and, in one FILE at least, copies that know the size of what they write to. All faults are told.
# HARDENED: TRUE where the build asks for it. Exit code 77: skipped.
set -euo pipefail
hardened=$1 readelf=$2 commands=$3
shift 3
skip() {
  echo "skipped: $1"
  exit 77
}
[ "$hardened" = TRUE ] || skip 'only builds with optimization and without sanitizers are hardened'
command -v "${readelf:-none}" >/dev/null || skip 'no readelf (apt-get install binutils)'

faults=0
fault() {
  echo "$1: $2" >&2
  faults=$((faults + 1))
}

compiled=0
while read -r command; do
  compiled=$((compiled + 1))
  for flag in -fstack-protector-strong -D_FORTIFY_SOURCE=3; do
    case $command in
      *"$flag"*) ;;
      *) fault "${command##* }" "compiled without $flag (its target needs bora_compile_options or bora_harden)" ;;
    esac
  done
done < <(sed -n 's/^ *"command": "\(.*\)",$/\1/p' "$commands")
[ "$compiled" -gt 0 ] || fault "$commands" 'no commands in it, so they were not checked'

built=0 sized_copies=0
for file in "$@"; do
  [ -e "$file" ] || continue
  built=$((built + 1))
  headers=$("$readelf" --wide --file-header --program-headers "$file")
  dynamic=$("$readelf" --wide --dynamic "$file")
  symbols=$("$readelf" --wide --dyn-syms "$file")
  grep -qE '^ *Type: +DYN' <<<"$headers" || fault "$file" 'not position-independent (-fPIE -pie, or -fPIC)'
  grep -q GNU_RELRO <<<"$headers" || fault "$file" 'no GNU_RELRO (-Wl,-z,relro)'
  grep -qE 'BIND_NOW|FLAGS_1.*NOW' <<<"$dynamic" || fault "$file" 'symbols are bound late (-Wl,-z,now)'
  stack=$(sed -n 's/^ *GNU_STACK\(.*\)$/\1/p' <<<"$headers")
  [[ $stack == *RW* && $stack != *RWE* ]] || fault "$file" "its stack may be executed: GNU_STACK$stack"
  grep -q __stack_chk_fail <<<"$symbols" || fault "$file" 'no guard on its stack (-fstack-protector-strong)'
  if grep -qE ' __[a-z]+_chk(@|$)' <<<"${symbols//__stack_chk/}"; then sized_copies=1; fi
done
[ "$built" -gt 0 ] || skip "none of these is built: $*"
[ "$sized_copies" = 1 ] || fault "$*" 'no call of a checked function such as __memcpy_chk (-D_FORTIFY_SOURCE=3)'
echo "$compiled commands, $built files, $faults faults"
[ "$faults" = 0 ]
