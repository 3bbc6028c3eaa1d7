// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/doctor.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/plugin.h"
#include "bora/base/revision.h"
#include "bora/base/text.h"
#include "bora/core/cuda_engine.h"
#include "bora/core/cuda_plugin.h"
#include "bora/core/cudnn_plugin.h"
#include "bora/core/device_kernels.h"
#include "bora/core/runtime.h"
#include "bora/mesh/mpi_plugin.h"
#include "bora/mesh/nccl_plugin.h"
#include "bora/run/machine.h"
#include "bora/store/arrow_plugin.h"

namespace bora::run {
namespace {

using Kind = Finding::Kind;

constexpr double kRoom = 1e9;  // less is soon full of token caches and checkpoints
constexpr std::string_view kNotBuilt = "not built";

struct Known {
  std::string_view name, library, version_symbol;
  int version;
  std::string_view build, repair;
};
constexpr std::array<Known, 5> kPlugins = {{
    {"mpi", "libbora_mpi.so", "bora_mpi_plugin_version", mesh::kMpiPluginVersion,
     "for several workers: sudo apt-get install libopenmpi-dev openmpi-bin, then build again",
     "sudo apt-get install openmpi-bin"},
    {"arrow", "libbora_arrow.so", "bora_arrow_plugin_version", store::kArrowPluginVersion,
     "for Parquet, Arrow and object stores: scripts/setup.sh --arrow, then build again",
     "scripts/setup.sh --arrow, then build again; where pip installed Bora: pip install 'bora[arrow]'"},
    {"cuda", "libbora_cuda.so", "bora_cuda_plugin_version", core::kCudaPluginVersion,
     "configure with -DBORA_CUDA=ON where nvcc is found", ""},
    {"nccl", "libbora_nccl.so", "bora_nccl_plugin_version", mesh::kNcclPluginVersion,
     "configure with -DBORA_CUDA=ON where nvcc, nccl.h and libnccl are found", ""},
    {"cudnn", "libbora_cudnn.so", "bora_cudnn_plugin_version", core::kCudnnPluginVersion,
     "scripts/setup.sh --cudnn, then configure with -DBORA_CUDA=ON where nvcc is found", ""},
}};

Finding plugin_of(const Known& known) {
  std::string error;
  try {
    const Plugin opened(std::string(known.library), {.name = std::string(known.name) + " plug-in",
                                                     .version_symbol = std::string(known.version_symbol),
                                                     .version = known.version,
                                                     .absent = std::string(kNotBuilt),
                                                     .build = std::string(known.build),
                                                     .repair = std::string(known.repair)});
  } catch (const Error& e) {
    error = e.what();
  }
  auto finding = plugin_finding(known.name, error);
  if (known.name != "cudnn" || finding.kind != Kind::fine) return finding;
  const auto library = core::load_cudnn_plugin();
  finding.text += " · " + library.name;
  if (library.why_not.empty()) return finding;
  return {Kind::note, finding.name, fmt::format("{}: {}", finding.text, library.why_not),
          "install the wheel beside PyPI's torch 2.11.0, which brings cuDNN"};
}

std::pair<std::string, std::string> text_and_hint(const std::string& error) {
  const auto at = error.find("\nhint: ");
  if (at == error.npos) return {error, ""};
  return {error.substr(0, at), error.substr(at + 7)};
}

Finding wrong(std::string_view name, const std::string& error) {
  const auto [text, hint] = text_and_hint(error);
  return {Kind::wrong, std::string(name), text, hint};
}

// Bytes that programs may still take, where the system tells.
std::optional<double> free_memory() {
  try {
    const auto text = read_text("/proc/meminfo");
    const std::string_view key = "MemAvailable:";
    const auto at = text.find(key);
    if (at == text.npos) return std::nullopt;
    const auto rest = trim(std::string_view(text).substr(at + key.size()));
    const auto kilobytes = parse_int(rest.substr(0, rest.find(' ')));
    return kilobytes ? std::optional(static_cast<double>(*kilobytes) * 1024) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Finding memory_finding() {
  const auto free = free_memory();
  return {Kind::fine, "memory",
          human_bytes(machine_memory()) + (free ? fmt::format(", {} free", human_bytes(*free)) : ""), ""};
}

std::string of_libtorch(const core::RuntimeInfo& info) {
  const bool cuda = exists(path_join(parent_path(info.libtorch_file), "libtorch_cuda.so"));
  return fmt::format("{} · {} · {}", info.libtorch, info.libtorch_file,
                     cuda ? "its CUDA part is there" : "without its CUDA part");
}

// All that needs the libraries to work.
std::vector<Finding> engine_findings() {
  const auto info = core::runtime_info();
  const bool matrix_units = info.instructions.find("AMX") != info.instructions.npos;
  return {{Kind::fine, "libtorch", of_libtorch(info), ""},
          {Kind::fine, "cpu",
           fmt::format("{} · {} threads · {} · products by {}", info.cpu, info.threads, info.instructions,
                       info.matmul),
           ""},
          {Kind::fine, "bf16",
           matrix_units ? "in matrix units (AMX)" : "widened to fp32: no matrix units (AMX)", ""}};
}

std::string program_text() {
  const auto revision = program_revision();
  return fmt::format("Bora {}{}", BORA_VERSION, revision.empty() ? "" : " · " + revision);
}

Json as_json(const core::CudaFacts& facts) {
  Json out{{"state", core::name(facts.state())}};
  if (!facts.driver.empty()) out["driver"] = facts.driver;
  if (facts.has_driver) out["cuda"] = core::text(facts.cuda);
  if (!facts.failure.empty()) out["failure"] = facts.failure;
  out["gpus"] = Json::array();
  for (const auto& gpu : facts.gpus) {
    Json one{{"name", gpu.name}, {"capability", core::text(gpu.capability)}, {"memory", gpu.memory}};
    if (gpu.free) one["free"] = *gpu.free;
    out["gpus"].push_back(std::move(one));
  }
  return out;
}

// Empty where this program computes on it.
std::string why_no_computing(const core::CudaFacts& facts, std::size_t gpu, int usable) {
  if (!core::suits(facts.gpus[gpu]))
    return fmt::format("capability {} is needed; auto and cuda take a newer one",
                       core::text(core::kLeastCapability));
  if (static_cast<int>(gpu) < usable) return "";
  return facts.engine.empty() ? "not opened" : facts.engine;
}

std::string_view word(Kind kind) {
  return kind == Kind::fine ? "ok" : (kind == Kind::note ? "note" : "wrong");
}

}  // namespace

bool Diagnosis::well() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& f) { return f.kind == Kind::wrong; });
}

Finding plugin_finding(std::string_view name, const std::string& error) {
  const auto plugin = fmt::format("plug-in {}", name);
  if (error.empty()) return {Kind::fine, plugin, "built", ""};
  const auto [text, hint] = text_and_hint(error);
  return {text.starts_with(kNotBuilt) ? Kind::note : Kind::wrong, plugin, text, hint};
}

Finding folder_finding(std::string_view name, const std::string& path) {
  if (const auto why = why_not_writable(path); !why.empty())
    return {Kind::wrong, std::string(name), why, "let it be written, or choose another folder by BORA_CACHE"};
  const auto free = free_bytes(path);
  if (!free) return {Kind::fine, std::string(name), path, ""};
  const auto text = fmt::format("{} · {} free", path, human_bytes(*free));
  if (*free >= kRoom) return {Kind::fine, std::string(name), text, ""};
  return {Kind::note, std::string(name), text,
          "downloads and token caches come here; make room, or choose another folder by BORA_CACHE"};
}

std::vector<Finding> gpu_findings(const core::CudaFacts& facts, int usable) {
  using State = core::CudaFacts::State;
  const auto state = facts.state();
  if (state != State::ready) {
    const auto hint = core::refuse_gpu(facts, {core::Device::Type::cuda, 0}, usable).hint;
    const bool broken = state == State::driver_fails;
    return {{broken ? Kind::wrong : Kind::note, "gpu", core::summary(facts),
             state == State::no_driver ? "" : hint}};
  }
  std::vector<Finding> out;
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    const auto why_not = why_no_computing(facts, i, usable);
    out.push_back({why_not.empty() ? Kind::fine : Kind::note, fmt::format("cuda:{}", i),
                   fmt::format("{} · {}{}{}", core::describe(facts.gpus[i]), core::describe_driver(facts),
                               why_not.empty() ? "" : " · ", why_not),
                   ""});
  }
  return out;
}

Diagnosis diagnose() {
  Diagnosis out{{{Kind::fine, "program", program_text(), ""}}, core::cuda_facts()};
  auto& all = out.findings;
  const auto look = [&](std::string_view name, const auto& body) {
    try {
      body();
    } catch (const Error& e) {
      all.push_back(wrong(name, e.what()));
    }
  };
  look("libtorch", [&] {
    core::initialize();
    for (auto& finding : engine_findings()) all.push_back(std::move(finding));
  });
  all.push_back(memory_finding());
  look("cache", [&] { all.push_back(folder_finding("cache", env::cache_directory())); });
  for (const auto& known : kPlugins) all.push_back(plugin_of(known));
  if (out.cuda.state() == core::CudaFacts::State::ready) out.cuda.engine = core::open_cuda_engine();
  for (auto& finding : gpu_findings(out.cuda, core::device_count(core::Device::Type::cuda)))
    all.push_back(std::move(finding));
  return out;
}

std::string diagnosis_text(const Diagnosis& diagnosis) {
  std::string out;
  std::size_t wrong = 0;
  for (const auto& f : diagnosis.findings) {
    wrong += f.kind == Kind::wrong ? 1 : 0;
    out += fmt::format("{:<7}{:<15}{}\n", word(f.kind), f.name, f.text);
    if (!f.hint.empty()) out += fmt::format("{:<22}hint: {}\n", "", f.hint);
  }
  return out + (wrong == 0 ? "nothing is wrong\n"
                           : fmt::format("{} thing{} wrong\n", wrong, wrong == 1 ? " is" : "s are"));
}

Json diagnosis_json(const Diagnosis& diagnosis) {
  Json out{{"ok", diagnosis.well()}, {"findings", Json::array()}, {"cuda", as_json(diagnosis.cuda)}};
  for (const auto& f : diagnosis.findings) {
    Json one{{"kind", word(f.kind)}, {"name", f.name}, {"text", f.text}};
    if (!f.hint.empty()) one["hint"] = f.hint;
    out["findings"].push_back(std::move(one));
  }
  return out;
}

}  // namespace bora::run
