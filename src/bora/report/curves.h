// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bora::report {

/// A number of a run at a step; it may be NaN or infinite.
struct Point {
  std::int64_t step = 0;
  double value = 0;
  bool operator==(const Point&) const = default;
};
using Curve = std::vector<Point>;  ///< in the order of the file: by step
using Curves = std::map<std::string, Curve>;

/// The median of the last 100 points (fewer: of all) of a curve: what a step has as a rule, whatever befell a single one.
/// Nothing where there is no such curve.
std::optional<double> usual(const Curves& curves, const std::string& name);

/// The numbers of metrics.jsonl or timing.jsonl (docs/formats/run_directory.md) by name. A file that is not
/// there has none; a last line without its end, which a run may just be writing, is left out. Errors:
/// Corruption naming file and line.
Curves read_curves(const std::string& file);

/// The same of the file's last 64 KiB: enough for the newest value of each name, however long the run was.
Curves read_last_curves(const std::string& file);

}  // namespace bora::report
