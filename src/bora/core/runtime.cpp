// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/runtime.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/GradMode.h>
#include <dlfcn.h>
#include <torch/headeronly/version.h>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/parallel.h"
#include "bora/base/text.h"
#include "bora/core/kernels/matmul.h"
#include "bora/core/kernels/threads.h"
#include "bora/core/torch/allocator.h"

namespace bora::core {
namespace {

constexpr std::string_view kBuiltFor = TORCH_VERSION;

// "PyTorch built with: ..." does not name the version, the library's file does not either; a symbol that only
// this version's headers and library share is checked by linking. What can still differ is the file found at
// run time.
std::string cpu_model() {
  std::string text;
  try {
    text = read_text("/proc/cpuinfo");
  } catch (const Error&) {
    return "unknown";
  }
  auto at = text.find("model name");
  if (at == std::string::npos) return "unknown";
  auto line = std::string_view(text).substr(at, text.find('\n', at) - at);
  return std::string(trim(line.substr(line.find(':') + 1)));
}

}  // namespace

void initialize(int threads) {
  if (threads <= 0) threads = hardware_threads();
  install_allocator();
  at::set_num_threads(threads);
  kernels::set_threads(threads);
  at::GradMode::set_enabled(false);
}

RuntimeInfo runtime_info() {
  return {std::string(kBuiltFor), kernels::simd_target(), kernels::matmul_path(), cpu_model(),
          kernels::threads()};
}

}  // namespace bora::core
