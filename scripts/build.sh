# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# shellcheck shell=bash disable=SC2154
# Sourced by ./bora and ./test, which set `root` to the folder of the checkout.

# torch_folder: sets `torch` to the folder that scripts/setup.sh fills, by the same rules. No subprocess: ./bora
# passes here on every start.
torch_folder() {
  if [ -n "${LIBTORCH_DIR:-}" ]; then
    torch=$LIBTORCH_DIR
  else
    torch=${BORA_DEPS:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/bora}/libtorch-2.11.0/torch
  fi
  case $torch in /*) ;; *) torch=$PWD/$torch ;; esac
}

# Compilers take up to a gigabyte each.
build_jobs() {
  local cores free
  cores=$(nproc)
  free=$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo 2>/dev/null) || free=$cores
  if [ "${free:-0}" -lt 1 ]; then free=1; fi
  echo $((cores < free ? cores : free))
}

# What a person can use of a failed build's log: the compiler's words without its command line, else the end.
show_failure() {
  local words
  words=$(awk '/^FAILED:/ {show = 2; next} /^\[[0-9]+\/[0-9]+\]|^ninja:/ {show = 0} show == 2 {show = 1; next}
    show == 1 && ++lines <= 60' "$1")
  [ -n "$words" ] || words=$(tail -n 20 "$1")
  printf '%s\n' "$words" >&2
  printf 'bora: the build failed; everything it said is in %s\n' "$1" >&2
}

# The compiler is told of libtorch by a link in the build folder: a libtorch that has moved is no other libtorch, and
# nothing but the programs, which hold its path, is made again.
torch_link() { printf '%s/build/libtorch' "$root"; }

# configure PRESET: points the link at libtorch, and has CMake look at everything again.
configure() {
  local folder=$root/build/$1 link
  link=$(torch_link)
  mkdir -p "$folder"
  [ "$(readlink "$link")" = "$torch" ] || ln -sfn "$torch" "$link"
  if (cd "$root" && cmake --preset "$1" -DLIBTORCH_DIR:PATH="$link") </dev/null >>"$folder/build.log" 2>&1; then
    printf '%s\n' "$torch" >"$folder/configured"
    return 0
  fi
  show_failure "$folder/build.log"
  return 1
}

# is_configured PRESET: for this libtorch
is_configured() {
  local folder=$root/build/$1
  [ -e "$folder/build.ninja" ] && [ -e "$folder/configured" ] && [ "$(<"$folder/configured")" = "$torch" ] &&
    [ "$(readlink "$(torch_link)")" = "$torch" ]
}

# build PRESET TARGET...: configures if needed, builds, and says one line about it.
build() {
  local preset=$1 folder=$root/build/$1 start=$SECONDS line steps='' live='' status=1
  local log=$folder/build.log
  shift
  if [ -t 2 ]; then live=1; fi
  mkdir -p "$folder"
  : >"$log"
  if ! is_configured "$preset"; then
    if [ -n "$live" ]; then printf '\r\033[K  build       configuring' >&2; fi
    configure "$preset" || return 1
  fi
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    case $line in
      '[0/'*) ;; # CMake, run again because a file was added
      '['[0-9]*/[0-9]*']'*)
        steps=${line%%]*}]
        if [ -n "$live" ]; then printf '\r\033[K  build       %s' "$steps" >&2; fi
        ;;
      'ninja: exit '*) status=${line##* } ;;
    esac
  done < <(NINJA_STATUS='[%f/%t] ' ninja -C "$folder" -j "$(build_jobs)" "$@" </dev/null 2>&1
    printf '\nninja: exit %s\n' $?)
  if [ -n "$live" ]; then printf '\r\033[K' >&2; fi
  if [ "$status" != 0 ]; then
    show_failure "$log"
    return 1
  fi
  if [ -n "$steps" ]; then printf '  %-11s %-72s ok %4s s\n' build "$steps" $((SECONDS - start)) >&2; fi
}
