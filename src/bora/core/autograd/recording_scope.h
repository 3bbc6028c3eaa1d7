// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: the time in which operations are recorded.
#pragma once
#include <functional>
#include <span>
#include <string_view>

#include "bora/core/array.h"
#include "bora/core/autograd/largest.h"

namespace bora::core {

/// While it lives, operations on these parameters are recorded, and a backward pass adds their gradients to
/// `into` (empty: to new arrays). Backward passes stay on this thread, whose scopes (mapping, parameter
/// store, plain ops) they need; a device's would go to a thread of libtorch's.
class RecordingScope {
 public:
  /// `who` is for the message: Unsupported inside of another one.
  RecordingScope(std::string_view who, std::span<Array* const> parameters, std::span<Array> into = {},
                 bool twice = false);
  ~RecordingScope();
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;

  /// The gradient of parameter i after the backward pass; zeros if the result did not depend on it.
  Array gradient(std::size_t i) const;
  /// Whether the backward pass has reached it.
  bool reached(std::size_t i) const;

 private:
  std::span<Array* const> parameters_;
  autograd::LargestScope largest_;
  bool grad_mode_before_, threads_before_;
};

/// Whether a second derivative is to be taken: ops that have only one must refuse.
bool records_twice();

/// What f returns, which must have one element.
Array scalar_of(const std::function<Array()>& f);

}  // namespace bora::core
