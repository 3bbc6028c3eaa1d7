// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "args.h"
#include "bora/base/env.h"
#include "bora/core/cuda_plugin.h"
#include "bora/core/runtime.h"
#include "commands.h"

namespace bora::app {

int run_version(const Arguments& arguments) {
  Args args("version", "Versions, machine and environment.", "  bora version");
  args.parse(arguments);
  core::initialize();
  auto info = core::runtime_info();
  fmt::print("Bora {}\n", BORA_VERSION);
  fmt::print("{:<12}{}\n", "libtorch", info.libtorch);
  fmt::print("{:<12}{} ({} threads, {})\n", "cpu", info.cpu, info.threads, info.simd_target);
  fmt::print("{:<12}{}\n", "matmul", info.matmul);
  for (const auto& v : env::all()) {
    if (v.value) fmt::print("{:<12}{}={}   {}\n", "environment", v.name, *v.value, v.meaning);
  }
  return 0;
}

}  // namespace bora::app
