// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The plug-in's own check as a program: prints what was run; exit code 0, 1, or 77 without a device.
#include <cstddef>
#include <cstdio>

extern "C" int bora_nccl_check(char* words, std::size_t room);

int main() {
  char words[4096];
  const int outcome = bora_nccl_check(words, sizeof(words));
  std::puts(words);
  return outcome;
}
