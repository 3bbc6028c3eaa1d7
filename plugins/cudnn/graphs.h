// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// cuDNN's graphs of attention, through its frontend.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "sdpa.h"

namespace bora::cudnn {

/// Opens libcudnn.so.9 where that is not done yet. Why it cannot be used, with both versions where it is too old; empty
/// where it can.
const std::string& why_no_library();
/// Of the library that is open: 91900.
std::int64_t library_version();

/// For what a graph is made: a device of this process, or one that is described (JSON, as cuDNN writes it), for which
/// plans can be made and not computed.
class Target {
 public:
  explicit Target(std::int8_t device);
  Target(const std::string& description, int capability);  ///< 90: compute capability 9.0
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  struct Parts;
  const Parts& parts() const { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

/// A plan of one part and one pass, ready to run. Errors: Unsupported, with cuDNN's own words.
class Graph {
 public:
  Graph(const Target& target, const Sdpa& sdpa, bool backward);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::int64_t room() const;  ///< bytes, those of lengths and offsets of documents included
  /// On `stream`, in the order of its work.
  void run(const Target& target, const core::AttentionArrays& arrays, void* stream) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bora::cudnn
