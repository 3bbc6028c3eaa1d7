# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# shellcheck shell=bash
# Sourced by the scripts that write a page of docs/reference.

# put_page PAGE SCRIPT [--check] <TEXT: writes the page, or compares it and names the script that mends it.
put_page() {
  local page=$1 script=$2 text
  text=$(cat)
  if [ "${3:-}" = --check ]; then
    diff <(printf '%s\n' "$text") "$page" && return
    echo "$page is out of date; run $script"
    return 1
  fi
  mkdir -p "${page%/*}"
  printf '%s\n' "$text" >"$page.tmp"
  mv "$page.tmp" "$page"
}
