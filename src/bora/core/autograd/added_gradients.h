// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: gradients that a device adds to others, many in one launch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bora/core/grad.h"

namespace bora::core {

/// While it lives, each gradient of a backward pass is taken from its parameter as soon as it is there, and added to its
/// place in `into`: in the order in which they come, and with the bits of additions one by one. Where the places are to
/// store gradients the first one of each is stored.
class AddedGradients {
 public:
  /// Whether a device adds many in one launch; all of `into` are arrays then.
  static bool suits(std::span<const Array> into);

  AddedGradients(std::span<Array* const> parameters, const GradientPlaces& into);
  ~AddedGradients();
  AddedGradients(const AddedGradients&) = delete;
  AddedGradients& operator=(const AddedGradients&) = delete;

  void take(std::size_t parameter, Array gradient);
  /// Adds what waits: after the backward pass. Where gradients are to be stored those that have not come are zeros.
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
