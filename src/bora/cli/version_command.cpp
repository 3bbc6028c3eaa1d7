// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/env.h"
#include "bora/base/revision.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/core/cuda_facts.h"
#include "bora/core/cuda_plugin.h"
#include "bora/core/cudnn_plugin.h"
#include "bora/core/runtime.h"
#include "bora/mesh/nccl_plugin.h"
#include "bora/run/run_device.h"

namespace bora::cli {
namespace {

// "CUDA plug-in: not built: ..., and a hint" in a line that says whose it is.
std::string in_short(const std::string& reason) {
  constexpr std::string_view kWhose = "plug-in: ";
  const auto begin = reason.find(kWhose);
  const auto from = begin == reason.npos ? 0 : begin + kWhose.size();
  return reason.substr(from, reason.find('\n') - from);
}

std::vector<std::string> gpus_without_kernels(const core::CudaPlugin& plugin, const core::CudaFacts& facts) {
  std::vector<std::string> out;
  for (int gpu = 0; plugin.loaded && gpu < std::ssize(facts.gpus); ++gpu)
    if (!plugin.has_kernels(gpu)) out.push_back(fmt::format("cuda:{}", gpu));
  return out;
}

std::string cuda_text() {
  const auto plugin = core::load_cuda_plugin();
  const auto facts = core::cuda_facts();
  const auto driver = facts.gpus.empty() ? "" : "; " + core::describe_driver(facts);
  const auto without = gpus_without_kernels(plugin, facts);
  return fmt::format("{}{}; plug-in {}{}", core::summary(facts), driver,
                     plugin.loaded ? "loaded" : in_short(plugin.reason),
                     without.empty() ? "" : ", with no kernels for " + join(without));
}

std::string cudnn_text() {
  const auto library = core::load_cudnn_plugin();
  return library.why_not.empty() ? library.name : fmt::format("{}: {}", library.name, library.why_not);
}

// What `auto` takes.
std::string device_text() {
  const run::RunDevice device("version", "auto");
  return run::choice_text("auto");
}

}  // namespace

int run_version(const Arguments& arguments) {
  Args args("version", "Versions, machine and environment.", "  bora version");
  args.parse(arguments);
  core::initialize();
  auto info = core::runtime_info();
  fmt::print("Bora {}\n", BORA_VERSION);
  if (const auto revision = program_revision(); !revision.empty())
    fmt::print("{:<12}{}\n", "revision", revision);
  fmt::print("{:<12}{}\n", "libtorch", info.libtorch);
  fmt::print("{:<12}{} ({} threads, {})\n", "cpu", info.cpu, info.threads, info.instructions);
  fmt::print("{:<12}{}\n", "matmul", info.matmul);
  fmt::print("{:<12}{}\n", "device", device_text());
  fmt::print("{:<12}{}\n", "cuda", cuda_text());
  fmt::print("{:<12}{}\n", "cudnn", in_short(cudnn_text()));
  fmt::print("{:<12}{}\n", "nccl", in_short(mesh::check_nccl().words));
  for (const auto& v : env::all()) {
    if (v.value) fmt::print("{:<12}{}={}   {}\n", "environment", v.name, *v.value, v.meaning);
  }
  return 0;
}

}  // namespace bora::cli
