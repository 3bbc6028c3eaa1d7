// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: what value_and_grad sets up and takes down.
#pragma once
#include <span>

#include "bora/core/array.h"

namespace bora::core {

/// While it lives, operations on these parameters are recorded and their gradients go to `into` (or to new
/// arrays).
class RecordingScope {
 public:
  RecordingScope(std::span<Array* const> parameters, std::span<Array> into);
  ~RecordingScope();
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;

  /// The gradient of parameter i after the backward pass; zeros if the result did not depend on it.
  Array gradient(std::size_t i) const;

 private:
  std::span<Array* const> parameters_;
  bool before_;
};

}  // namespace bora::core
