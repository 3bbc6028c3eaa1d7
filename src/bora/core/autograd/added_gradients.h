// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: gradients that a device adds to others, many in one launch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// While it lives with `on`, accumulate_gradients() on this thread stores in the places that it is given, whatever is there.
class StoringGradients {
 public:
  explicit StoringGradients(bool on);
  ~StoringGradients();
  StoringGradients(const StoringGradients&) = delete;
  StoringGradients& operator=(const StoringGradients&) = delete;

 private:
  bool before_;
};
bool storing_gradients();

/// While it lives, each gradient of a backward pass is taken from its parameter as soon as it is there, and added to its
/// place in `into`: in the order in which they come, and with the bits of additions one by one. Where gradients are stored
/// the first one takes its place instead.
class AddedGradients {
 public:
  /// Whether a device adds many in one launch; all of `into` are arrays then.
  static bool suits(std::span<const Array> into);

  AddedGradients(std::span<Array* const> parameters, std::span<Array> into);
  ~AddedGradients();
  AddedGradients(const AddedGradients&) = delete;
  AddedGradients& operator=(const AddedGradients&) = delete;

  void take(std::size_t parameter, Array gradient);
  /// Adds what waits: after the backward pass. Where gradients are stored those that have not come are zeros.
  void finish();

 private:
  void add_waiting();

  std::span<Array* const> parameters_;
  std::span<Array> into_;
  std::vector<Array> waiting_;
  std::vector<std::size_t> places_;
  std::vector<bool> stores_;  ///< by parameter: nothing is in its place yet
  std::int64_t bytes_ = 0, most_ = 0;
};

}  // namespace bora::core
