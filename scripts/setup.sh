#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# Installs what building Bora needs, on Debian 12: the missing Debian packages, and libtorch from the PyTorch wheel.
#
#   scripts/setup.sh          what ./bora needs
#   scripts/setup.sh --arrow  also Arrow, from the pyarrow wheel: data files may then be .parquet, .arrow and .feather
#   scripts/setup.sh --dev    all of that, and what ./test and .ci/run need (clang, clang-tidy, clang-format)
#   scripts/setup.sh --cuda   also what computing on NVIDIA's GPUs takes beside a driver: libtorch's part for CUDA and the
#                             libraries that it needs, beside libtorch (2.1 GB to download, 2.9 GB on the disk). An
#                             installed PyTorch does as well: LIBTORCH_DIR=.../site-packages/torch
#   scripts/setup.sh --cudnn  also the headers of cuDNN and of its frontend, for the plug-in of attention on GPUs; nvcc
#                             comes with the CUDA toolkit, which is not fetched
#   scripts/setup.sh --libtorch-cuda  also libtorch's part for CUDA alone, for scripts/rehearse.sh
#   scripts/setup.sh --slurm  also Slurm, for the test that starts a cluster of one node
#
#   BORA_DEPS      folder for libtorch and Arrow; default $XDG_CACHE_HOME/bora, else ~/.cache/bora
#   LIBTORCH_DIR   the torch folder of a wheel unpacked elsewhere; then none is fetched
#   ARROW_DIR      the pyarrow folder of a wheel unpacked elsewhere; then none is fetched
#
# A second run finds everything in place, downloads nothing and says nothing. Interrupted at any point, it leaves nothing
# half-done: libtorch is unpacked beside its final place and renamed.
# shellcheck disable=SC2086  # lists of names are split on purpose
set -euo pipefail
umask 022

readonly torch_version=2.11.0
readonly wheels="
7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a  torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl
7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548  nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl
4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8  nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64.whl"
readonly requirements="torch==$torch_version nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85"
# libtorch_cpu asks for libcudart and libcupti on machines without a GPU too.
readonly unpacked="
torch/include/ATen/core/Tensor.h torch/include/torch/headeronly/version.h
torch/lib/libtorch_cpu.so torch/lib/libc10.so torch/lib/libgomp.so.1
nvidia/cu13/lib/libcudart.so.13 nvidia/cu13/lib/libcupti.so.13"
readonly needed_megabytes=1300

readonly arrow_version=26.0.1
readonly arrow_wheels="
39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c  pyarrow-26.0.1-cp311-cp311-manylinux_2_28_x86_64.whl"
readonly arrow_unpacked="
pyarrow/include/arrow/api.h pyarrow/include/parquet/arrow/reader.h
pyarrow/libarrow.so.2600 pyarrow/libparquet.so.2600 pyarrow/libarrow_s3.so.2600"

# The cuDNN that this libtorch's build for CUDA names. Of both wheels the headers alone are kept.
readonly cudnn_version=9.19.0.56 frontend_version=1.32.0
readonly cudnn_wheels="
d20e1734305e9d68889a96e3f35094d733ff1f83932ebe462753973e53a572bf  nvidia_cudnn_cu13-9.19.0.56-py3-none-manylinux_2_27_x86_64.whl
c6006556017a4d1c914c52a556c71b1267f2d6a0500f742e7b4edef539878df0  nvidia_cudnn_frontend-1.32.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"
readonly cudnn_unpacked="include/cudnn_frontend.h nvidia/cudnn/include/cudnn.h nvidia/cudnn/include/cudnn_version.h"

# Of the wheel of libtorch itself.
readonly libtorch_cuda_unpacked="
torch/lib/libc10_cuda.so torch/lib/libtorch_nvshmem.so torch/lib/libtorch_cuda.so"
# What that asks for, in the versions that the wheel names.
readonly nvidia_wheels="
ee8722c1f0145ab246bccb9e452153b5e0515fd094c3678df50b2a0888b8b171  nvidia_cublas-13.1.0.3-py3-none-manylinux_2_27_x86_64.whl
d20e1734305e9d68889a96e3f35094d733ff1f83932ebe462753973e53a572bf  nvidia_cudnn_cu13-9.19.0.56-py3-none-manylinux_2_27_x86_64.whl
6c44f692dce8fd5ffd3e3df134b6cdb9c2f72d99cf40b62c32dde45eea9ddad3  nvidia_cufft-12.0.0.61-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl
08a3ecefae5a01c7f5117351c64f17c7c62efa5fffdbe24fc7d298da19cd0b44  nvidia_cufile-1.15.1.6-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl
1aee33a5da6e1db083fe2b90082def8915f30f3248d5896bcec36a579d941bfc  nvidia_curand-10.4.0.35-py3-none-manylinux_2_27_x86_64.whl
2b3c89c88d01ee0e477cb7f82ef60a11a4bcd57b6b87c33f789350b59759360b  nvidia_cusparse-12.6.3.3-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl
25e30a8a7323935d4ad0340b95a0b69926eee755767e8e0b1cf8dd85b197d3fd  nvidia_cusparselt_cu13-0.8.0-py3-none-manylinux2014_x86_64.whl
e4553a30f34195f3fa1da02a6da3d6337d28f2003943aa0a3d247bbc25fefc42  nvidia_nccl_cu13-2.28.9-py3-none-manylinux_2_18_x86_64.whl
13a74f429e23b921c1109976abefacc69835f2f433ebd323d3946e11d804e47b  nvidia_nvjitlink-13.0.88-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl
290f0a2ee94c9f3687a02502f3b9299a9f9fe826e6d0287ee18482e78d495b80  nvidia_nvshmem_cu13-3.4.5-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
readonly nvidia_requirements="nvidia-cublas==13.1.0.3 nvidia-cudnn-cu13==$cudnn_version nvidia-cufft==12.0.0.61
nvidia-cufile==1.15.1.6 nvidia-curand==10.4.0.35 nvidia-cusparse==12.6.3.3 nvidia-cusparselt-cu13==0.8.0
nvidia-nccl-cu13==2.28.9 nvidia-nvjitlink==13.0.88 nvidia-nvshmem-cu13==3.4.5"
readonly nvidia_unpacked="
nvidia/cu13/lib/libcublas.so.13 nvidia/cu13/lib/libcublasLt.so.13 nvidia/cudnn/lib/libcudnn.so.9
nvidia/cu13/lib/libcufft.so.12 nvidia/cu13/lib/libcufile.so.0 nvidia/cu13/lib/libcurand.so.10
nvidia/cu13/lib/libcusparse.so.12 nvidia/cusparselt/lib/libcusparseLt.so.0 nvidia/nccl/lib/libnccl.so.2
nvidia/cu13/lib/libnvJitLink.so.13 nvidia/nvshmem/lib/libnvshmem_host.so.3"
readonly cuda_megabytes=6000

# Debian's is too old for our .clang-format.
readonly format_version=18.1.8
readonly format_wheels="
2de122b8aa78ba49e326f974131caab2c79f4ae877c227cd4e3e5d82a98d21e5  clang_format-18.1.8-py2.py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"

# package=probe: the probe is a program, or a header where it starts with /
readonly packages="
build-essential=g++ cmake=cmake ninja-build=ninja ccache=ccache
libfmt-dev=/fmt/core.h libyaml-cpp-dev=/yaml-cpp/yaml.h nlohmann-json3-dev=/nlohmann/json.hpp
libsimdjson-dev=/simdjson.h libxxhash-dev=/xxhash.h libzstd-dev=/zstd.h zlib1g-dev=/zlib.h libbz2-dev=/bzlib.h
libblosc-dev=/blosc.h libflac-dev=/FLAC/stream_decoder.h libcurl4-openssl-dev=/curl/curl.h
libhwy-dev=/hwy/highway.h libutf8proc-dev=/utf8proc.h libpcre2-dev=/pcre2.h libcli11-dev=/CLI/CLI.hpp
libopenmpi-dev=/mpi/mpi.h openmpi-bin=mpirun
libgtest-dev=/gtest/gtest.h libgmock-dev=/gmock/gmock.h librapidcheck-dev=/rapidcheck.h
libbenchmark-dev=/benchmark/benchmark.h"
readonly dev_packages="clang=clang++ clang-tidy=clang-tidy libclang-rt-dev=clang++ zsh=zsh fish=fish locales=locale-gen"
readonly slurm_packages="slurmctld=slurmctld slurmd=slurmd slurm-client=srun"
# Only while libtorch is being fetched.
readonly fetch_packages="python3-pip=pip3 unzip=unzip ca-certificates=update-ca-certificates"

log=
work=

say() {
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
  printf '%s\n' "$*" >&2
}

die() {
  say "bora: setup: $1"
  shift
  local line
  for line in "$@"; do say "      $line"; done
  if [ -s "$log" ]; then
    say "      the last lines of $log:"
    tail -n 20 "$log" | sed 's/^/      | /' >&2
  fi
  exit 1
}

# busy NAME DETAIL: on a terminal, what is going on; row NAME DETAIL SECONDS: what was done, in its place
busy() { if [ -t 2 ]; then printf '\r\033[K  %-11s %s ...' "$1" "$2" >&2; fi; }
row() {
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
  printf '  %-11s %-72s ok %4s s\n' "$1" "$2" "$3" >&2
}

deps_folder() {
  if [ -n "${BORA_DEPS:-}" ]; then
    printf '%s' "$BORA_DEPS"
  elif [ -n "${XDG_CACHE_HOME:-}" ]; then
    printf '%s/bora' "$XDG_CACHE_HOME"
  elif [ -n "${HOME:-}" ]; then
    printf '%s/.cache/bora' "$HOME"
  else
    die "neither HOME nor XDG_CACHE_HOME is set, so there is no folder for libtorch" \
      "hint: set BORA_DEPS to a folder with $needed_megabytes MB of space"
  fi
}

# Names of the packages in "package=probe ..." that dpkg does not have.
not_installed() {
  local names entry
  names=$(for entry in $1; do printf '%s ' "${entry%%=*}"; done)
  if command -v dpkg-query >/dev/null; then
    comm -23 <(printf '%s\n' $names | sort) \
      <(dpkg-query -W -f='${Package} ${db:Status-Status}\n' $names 2>/dev/null |
        sed -n 's/ installed$//p' | sort -u)
  else
    printf '%s\n' $names
  fi
}

# Of those, the ones whose file is not there either.
not_present() {
  local entry probe name missing=$2
  for entry in $1; do
    name=${entry%%=*} probe=${entry#*=}
    case " $missing " in *" $name "*) ;; *) continue ;; esac
    case $probe in
      /*) [ -e "/usr/include$probe" ] || [ -e "/usr/local/include$probe" ] ||
        [ -e "/usr/include/x86_64-linux-gnu$probe" ] || printf '%s ' "$name" ;;
      *) command -v "$probe" >/dev/null || printf '%s ' "$name" ;;
    esac
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_be_root() {
  [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

apt_install() {
  DEBIAN_FRONTEND=noninteractive as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=300 "$@" </dev/null >>"$log" 2>&1
}

install_packages() {
  local wanted=$1 missing absent shown start=$SECONDS count
  missing=$(not_installed "$wanted" | tr '\n' ' ')
  missing=${missing% }
  [ -n "$missing" ] || return 0
  if ! command -v apt-get >/dev/null || ! can_be_root; then
    absent=$(not_present "$wanted" "$missing")
    [ -n "$absent" ] || return 0
    say "bora: setup: these packages are missing, and installing them needs root:"
    say "      sudo apt-get install $missing"
    say "      Run that line, then this command again."
    exit 1
  fi
  busy packages "$missing (apt)"
  # The list of packages may be absent (a fresh container) or older than the mirror: update only if the first try fails.
  apt_install $missing || {
    as_root apt-get update -q </dev/null >>"$log" 2>&1 && apt_install $missing
  } || die "apt-get could not install: $missing" "hint: is the Debian mirror reachable?"
  count=$(printf '%s\n' $missing | wc -l)
  shown=$missing
  [ ${#shown} -le 48 ] || shown="${shown:0:48}" shown="${shown% *} ..."
  row packages "$shown (apt, $count packages)" $((SECONDS - start))
}

find_pip() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -m pip --version >/dev/null 2>&1; then
      printf '%s' "$python"
      return 0
    fi
  done
  return 1
}

# is_complete FOLDER FILES
is_complete() {
  local file
  for file in $2; do
    [ -s "$1/$file" ] || return 1
  done
}

# download_wheels NAME REQUIREMENTS
download_wheels() {
  local python try
  python=$(find_pip) || die "no python3 with pip, which fetches the wheels" \
    "hint: sudo apt-get install python3-pip"
  # A broken connection half-way through 530 MB is worth another try; everything else is not.
  for try in 1 2 3; do
      if "$python" -m pip download --quiet --quiet --no-input --no-deps --no-cache-dir --disable-pip-version-check \
      --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 --abi none \
      --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 --platform manylinux_2_18_x86_64 --platform manylinux_2_17_x86_64 \
      --platform manylinux2014_x86_64 --dest "$work/wheels" $2 </dev/null >>"$log" 2>&1; then
      return 0
    fi
    grep -q -E 'IncompleteRead|ReadTimeoutError|ConnectionResetError|ProtocolError' <(tail -n 20 "$log") || break
    say "  $(printf '%-11s' "$1") the download broke off (try $try of 3)"
  done
  die "pip could not download: $2" \
    "hint: is the Python package index reachable? Or point LIBTORCH_DIR (or ARROW_DIR) at the torch (or pyarrow)" \
    "      folder of an unpacked wheel of that version"
}

# check_wheels LIST
check_wheels() {
  (cd "$work/wheels" && printf '%s\n' "$1" | sed '/^$/d' | sha256sum --check --quiet --strict) >>"$log" 2>&1 ||
    die "a downloaded wheel does not have the expected SHA-256; nothing was installed"
}

# put_in_place FOLDER: what was unpacked
put_in_place() {
  sync -f "$work/new" 2>/dev/null || true # a power cut after the rename must not leave empty files
  if [ -e "$1" ]; then mv "$1" "$work/old"; fi
  mv "$work/new" "$1"
  rm -rf "$work"
  work=
}

# begin_unpacking DEPS: the caller holds the lock
begin_unpacking() {
  [ "$(uname -m)" = x86_64 ] || die "this machine is $(uname -m); the wheels that Bora is built on are for x86_64"
  work=$1/unpacking.$$
  rm -rf "$1"/unpacking.* # what killed runs left
  mkdir -p "$work/wheels"
}

shown_folder() {
  if [ -n "${HOME:-}" ]; then printf '%s' "${1/#"$HOME"\//'~/'}"; else printf '%s' "$1"; fi
}

unpack_wheels() {
  local wheel
  for wheel in "$work"/wheels/*.whl; do
    unzip -q -o "$wheel" 'torch/include/*' torch/lib/libtorch_cpu.so torch/lib/libc10.so 'torch/lib/libgomp*.so*' \
      nvidia/cu13/lib/libcudart.so.13 nvidia/cu13/lib/libcupti.so.13 '*.dist-info/*icense*' '*.dist-info/*ICENSE*' \
      -d "$work/new" >>"$log" 2>&1 || [ $? = 11 ] # 11: some of these names are in another wheel
    rm -f "$wheel"
  done
  is_complete "$work/new" "$unpacked" || die "the wheels were unpacked, but files are missing"
  rm -rf "$work/wheels"
}

install_libtorch() {
  local deps=$1 target=$1/libtorch-$torch_version start=$SECONDS free
  begin_unpacking "$deps"
  free=$(df -Pm "$deps" | awk 'NR == 2 {print $4}')
  [ "$free" -ge "$needed_megabytes" ] || die "$deps has $free MB of free space; libtorch needs $needed_megabytes MB" \
    "hint: set BORA_DEPS to a folder on another disk"
  busy libtorch "$torch_version, downloading 530 MB"
  download_wheels libtorch "$requirements"
  busy libtorch "$torch_version, unpacking"
  check_wheels "$wheels"
  unpack_wheels
  put_in_place "$target"
  row libtorch "$torch_version, 530 MB, hash ok -> $(shown_folder "$target")" $((SECONDS - start))
}

install_arrow() {
  local deps=$1 target=$1/pyarrow-$arrow_version start=$SECONDS
  begin_unpacking "$deps"
  busy arrow "$arrow_version, downloading 55 MB"
  download_wheels arrow "pyarrow==$arrow_version"
  check_wheels "$arrow_wheels"
  unzip -q -o "$work"/wheels/*.whl 'pyarrow/include/*' pyarrow/libarrow.so.2600 pyarrow/libparquet.so.2600 \
    pyarrow/libarrow_s3.so.2600 '*.dist-info/*' -d "$work/new" >>"$log" 2>&1
  is_complete "$work/new" "$arrow_unpacked" || die "the pyarrow wheel was unpacked, but files are missing"
  rm -rf "$work/wheels"
  put_in_place "$target"
  row arrow "$arrow_version, 55 MB, hash ok -> $(shown_folder "$target")" $((SECONDS - start))
}

install_cudnn() {
  local deps=$1 target=$1/cudnn-$cudnn_version start=$SECONDS wheel
  begin_unpacking "$deps"
  busy cudnn "$cudnn_version, downloading 380 MB"
  download_wheels cudnn "nvidia-cudnn-cu13==$cudnn_version nvidia-cudnn-frontend==$frontend_version"
  check_wheels "$cudnn_wheels"
  for wheel in "$work"/wheels/*.whl; do
    unzip -q -o "$wheel" 'include/*' 'nvidia/cudnn/include/*' '*.dist-info/*icense*' '*.dist-info/*ICENSE*' \
      -d "$work/new" >>"$log" 2>&1 || [ $? = 11 ] # 11: some of these names are in the other wheel
  done
  is_complete "$work/new" "$cudnn_unpacked" || die "the wheels of cuDNN were unpacked, but files are missing"
  rm -rf "$work/wheels"
  put_in_place "$target"
  row cudnn "headers of $cudnn_version, hash ok -> $(shown_folder "$target")" $((SECONDS - start))
}

install_libtorch_cuda() {
  local deps=$1 target=$1/libtorch-cuda-$torch_version start=$SECONDS
  begin_unpacking "$deps"
  busy libtorch-cuda "$torch_version, downloading 530 MB"
  download_wheels libtorch-cuda "torch==$torch_version"
  check_wheels "$(grep ' torch-' <<<"$wheels")"
  unzip -q -o "$work"/wheels/*.whl $libtorch_cuda_unpacked '*.dist-info/*icense*' '*.dist-info/*ICENSE*' \
    -d "$work/new" >>"$log" 2>&1 || [ $? = 11 ] # 11: one of these spellings is not there
  is_complete "$work/new" "$libtorch_cuda_unpacked" || die "the wheel of PyTorch was unpacked, but files are missing"
  rm -rf "$work/wheels"
  put_in_place "$target"
  row libtorch-cuda "$torch_version, 460 MB, hash ok -> $(shown_folder "$target")" $((SECONDS - start))
}

# Beside libtorch, which looks for it there; its own part last, which the program looks for.
install_cuda() {
  local deps=$1 target=$1/libtorch-$torch_version start=$SECONDS wheel file free
  is_complete "$deps/libtorch-cuda-$torch_version" "$libtorch_cuda_unpacked" || install_libtorch_cuda "$deps"
  begin_unpacking "$deps"
  free=$(df -Pm "$deps" | awk 'NR == 2 {print $4}')
  [ "$free" -ge "$cuda_megabytes" ] || die "$deps has $free MB of free space; NVIDIA's libraries need $cuda_megabytes MB" \
    "hint: set BORA_DEPS to a folder on another disk"
  busy cuda "NVIDIA's libraries, downloading 1.6 GB"
  download_wheels cuda "$nvidia_requirements"
  busy cuda "NVIDIA's libraries, unpacking"
  check_wheels "$nvidia_wheels"
  for wheel in "$work"/wheels/*.whl; do
    unzip -q -o "$wheel" 'nvidia/*/lib/*.so*' '*.dist-info/*icense*' '*.dist-info/*ICENSE*' -d "$work/new" \
      >>"$log" 2>&1 || [ $? = 11 ] # 11: one of these spellings is not there
    rm -f "$wheel"
  done
  is_complete "$work/new" "$nvidia_unpacked" || die "NVIDIA's wheels were unpacked, but files are missing"
  sync -f "$work/new" 2>/dev/null || true # a power cut must not leave empty files
  cp -al "$work/new/." "$target/"
  for file in $libtorch_cuda_unpacked; do ln -f "$deps/libtorch-cuda-$torch_version/$file" "$target/$file"; done
  rm -rf "$work"
  work=
  row cuda "CUDA 13.0, 2.9 GB, hashes ok -> $(shown_folder "$target")" $((SECONDS - start))
}

install_format() {
  local deps=$1 target=$1/clang-format-$format_version start=$SECONDS
  begin_unpacking "$deps"
  busy clang-format "$format_version, downloading 2 MB"
  download_wheels clang-format "clang-format==$format_version"
  check_wheels "$format_wheels"
  unzip -q -o -j "$work"/wheels/*.whl 'clang_format/data/bin/clang-format' '*.dist-info/*ICENSE*' -d "$work/new" \
    >>"$log" 2>&1
  is_complete "$work/new" clang-format || die "the clang-format wheel was unpacked, but its program is missing"
  chmod +x "$work/new/clang-format"
  rm -rf "$work/wheels"
  put_in_place "$target"
  row clang-format "$format_version, hash ok -> $(shown_folder "$target")" $((SECONDS - start))
}

clean_up() {
  local status=$?
  if [ -n "$work" ]; then rm -rf "$work"; fi
  case $status in
    0) ;;
    130 | 143) say 'bora: setup: stopped; run it again to start over' ;;
    *) return 0 ;; # keep the log
  esac
  if [ -n "$log" ]; then rm -f "$log"; fi
}

main() {
  local wanted=$packages deps torch='' arrow='' format='' cudnn='' libtorch_cuda='' cuda=''
  case "${1:-}" in
    '') ;;
    --arrow) arrow=wanted ;;
    --dev) wanted="$packages $dev_packages" arrow=wanted format=wanted ;;
    --cuda) cuda=wanted ;;
    --cudnn) cudnn=wanted ;;
    --libtorch-cuda) libtorch_cuda=wanted ;;
    --slurm) wanted="$packages $slurm_packages" ;;
    *) die "unknown argument '$1'; usage: scripts/setup.sh [--arrow | --cuda | --cudnn | --dev | --libtorch-cuda | --slurm]" ;;
  esac
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  log=$(mktemp "${TMPDIR:-/tmp}/bora-setup.XXXXXX.log")

  if [ -n "${LIBTORCH_DIR:-}" ]; then
    [ -e "$LIBTORCH_DIR/lib/libtorch_cpu.so" ] || die "LIBTORCH_DIR is $LIBTORCH_DIR, but that folder has no lib/libtorch_cpu.so"
  else
    torch=wanted
  fi
  if [ -n "$cuda" ] && [ -n "${LIBTORCH_DIR:-}" ]; then
    [ -e "$LIBTORCH_DIR/lib/libtorch_cuda.so" ] || die "LIBTORCH_DIR is $LIBTORCH_DIR, but that libtorch has no part for CUDA" \
      "hint: the folder torch of PyPI's torch $torch_version has it; or leave LIBTORCH_DIR out"
    cuda=
  fi
  if [ -n "${ARROW_DIR:-}" ]; then
    [ -e "$ARROW_DIR/include/arrow/api.h" ] || die "ARROW_DIR is $ARROW_DIR, but that folder has no include/arrow/api.h"
    arrow=
  fi
  if [ -n "$torch$arrow$format$cudnn$libtorch_cuda$cuda" ]; then
    deps=$(deps_folder) || exit 1
    if is_complete "$deps/libtorch-$torch_version" "$unpacked"; then torch=; fi
    if is_complete "$deps/pyarrow-$arrow_version" "$arrow_unpacked"; then arrow=; fi
    if is_complete "$deps/clang-format-$format_version" clang-format; then format=; fi
    if is_complete "$deps/cudnn-$cudnn_version" "$cudnn_unpacked"; then cudnn=; fi
    if is_complete "$deps/libtorch-cuda-$torch_version" "$libtorch_cuda_unpacked"; then libtorch_cuda=; fi
    if is_complete "$deps/libtorch-$torch_version" "$nvidia_unpacked $libtorch_cuda_unpacked"; then cuda=; fi
  fi
  if [ -z "$torch$arrow$format$cudnn$libtorch_cuda$cuda" ]; then
    install_packages "$wanted"
    return 0
  fi
  install_packages "$wanted $fetch_packages"
  mkdir -p "$deps" 2>/dev/null || die "cannot make the folder $deps" "hint: set BORA_DEPS to a folder that you may write"
  deps=$(cd "$deps" && pwd)
  exec 9>"$deps/lock"
  flock 9
  if [ -n "$torch" ] && ! is_complete "$deps/libtorch-$torch_version" "$unpacked"; then install_libtorch "$deps"; fi
  if [ -n "$arrow" ] && ! is_complete "$deps/pyarrow-$arrow_version" "$arrow_unpacked"; then install_arrow "$deps"; fi
  if [ -n "$format" ] && ! is_complete "$deps/clang-format-$format_version" clang-format; then install_format "$deps"; fi
  if [ -n "$cudnn" ] && ! is_complete "$deps/cudnn-$cudnn_version" "$cudnn_unpacked"; then install_cudnn "$deps"; fi
  if [ -n "$libtorch_cuda" ] && ! is_complete "$deps/libtorch-cuda-$torch_version" "$libtorch_cuda_unpacked"; then
    install_libtorch_cuda "$deps"
  fi
  if [ -n "$cuda" ] && ! is_complete "$deps/libtorch-$torch_version" "$nvidia_unpacked $libtorch_cuda_unpacked"; then
    install_cuda "$deps"
  fi
}

main "$@"
