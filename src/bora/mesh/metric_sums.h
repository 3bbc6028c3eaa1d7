// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bora/core/read_back.h"
#include "bora/mesh/communicator.h"

namespace bora::mesh {

/// What is told beside a loss, and added up as it is.
struct MetricSum {
  std::string name;
  double sum = 0, weight = 0;
  double mean() const { return weight != 0 ? sum / weight : 0; }
  bool operator==(const MetricSum&) const = default;
};

/// The same of one lane, which may still lie on a device.
struct LaneMetric {
  std::string name;
  core::Number sum, weight;
};

/// The names of metrics, in order, that every lane on every worker must have: sums of them are added up by
/// place.
class MetricNames {
 public:
  /// Those of one more lane of this worker. InvalidArgument if an earlier one had others.
  void add(const std::vector<std::string>& names);
  /// Makes sure, once, that all workers have the same (collective); one that had no lane takes those of the
  /// others. InvalidArgument, on all, where two differ.
  void agree(Communicator& workers);

  const std::vector<std::string>& all() const;  ///< none where no lane came

 private:
  std::optional<std::vector<std::string>> names_;
  bool agreed_ = false;
};

}  // namespace bora::mesh
