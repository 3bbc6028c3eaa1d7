// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/rolling_window.h"

#include <algorithm>
#include <cmath>

#include "bora/base/error.h"

namespace bora::optim {

void RollingWindow::record(double value) {
  if (!std::isfinite(value)) return;
  if (values_.size() < length_) {
    values_.push_back(value);
  } else {
    values_[next_] = value;
    next_ = (next_ + 1) % length_;
  }
}

double RollingWindow::bound(double sigma) const {
  double sum = 0, squares = 0;
  for (const double value : values_) sum += value;
  const auto n = static_cast<double>(values_.size());
  const double mean = sum / n;
  for (const double value : values_) squares += (value - mean) * (value - mean);
  return mean + sigma * std::max(std::sqrt(squares / n), 1e-6);
}

std::vector<double> RollingWindow::oldest_first() const {
  std::vector<double> out(values_);
  std::rotate(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(next_), out.end());
  return out;
}

Json RollingWindow::save() const { return Json(oldest_first()); }

void RollingWindow::load(const Json& saved, std::string_view name, std::int64_t steps) {
  if (!saved.is_array()) fail(ErrorKind::Corruption, "{} should be a list of numbers", name);
  if (std::ssize(saved) > steps)
    fail(ErrorKind::Corruption, "{} has {} values after {} steps", name, saved.size(), steps);
  values_.clear();
  next_ = 0;
  for (const Json& value : saved) {
    if (!value.is_number() || !std::isfinite(value.get<double>()))
      fail(ErrorKind::Corruption, "{} should be a list of finite numbers but holds {}", name, value.dump());
    record(value.get<double>());
  }
}

}  // namespace bora::optim
