// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What `bora doctor` looks at: whether all that the program needs of a machine is there, and works.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json.h"
#include "bora/core/cuda_facts.h"

namespace bora::run {

struct Finding {
  /// note: something that the program does without; wrong: something that is there and does not work, or that
  /// it cannot do without.
  enum class Kind : std::uint8_t { fine, note, wrong };
  Kind kind = Kind::fine;
  std::string name;  ///< "libtorch"
  std::string text;
  std::string hint;  ///< the next action; may be empty
};

struct Diagnosis {
  std::vector<Finding> findings;
  core::CudaFacts cuda;

  bool well() const;  ///< nothing is wrong
};

/// Of this machine and process: program, libraries, CPU, memory, disk, plug-ins, GPUs. Changes nothing, builds
/// and fetches nothing.
Diagnosis diagnose();

/// A line for each GPU, or one that says why there is none. `usable`: on how many this program computes.
std::vector<Finding> gpu_findings(const core::CudaFacts& facts, int usable);
/// Of a folder that the program writes to, and that need not be there yet.
Finding folder_finding(std::string_view name, const std::string& path);
/// Of a plug-in, from what opening it has said: empty if it was opened.
Finding plugin_finding(std::string_view name, const std::string& error);

std::string diagnosis_text(const Diagnosis& diagnosis);
Json diagnosis_json(const Diagnosis& diagnosis);

}  // namespace bora::run
