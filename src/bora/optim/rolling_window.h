// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bora/base/json.h"

namespace bora::optim {

/// The last values of a quantity, and the bound above which a new one stands out: mean + sigma ·
/// max(deviation, 1e-6). Values that are not finite are not recorded: one NaN would hide everything that
/// comes after.
class RollingWindow {
 public:
  explicit RollingWindow(std::int64_t length) : length_(static_cast<std::size_t>(length)) {}

  void record(double value);
  std::size_t count() const { return values_.size(); }
  double bound(double sigma) const;  ///< of the values recorded; there must be some

  /// A list of numbers, the oldest first.
  Json save() const;
  /// A saved window of another length gives its last values that fit. Corruption for more than `steps` values
  /// (there is one a step at most), or one that is not finite.
  void load(const Json& saved, std::string_view name, std::int64_t steps);

 private:
  std::vector<double> oldest_first() const;

  std::size_t length_;
  std::size_t next_ = 0;  // where the next value goes, once the window is full
  std::vector<double> values_;
};

}  // namespace bora::optim
