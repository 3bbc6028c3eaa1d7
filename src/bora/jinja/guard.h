// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "bora/base/error.h"
#include "bora/jinja/limits.h"

namespace bora::jinja {

/// Both count from 1; columns are bytes.
struct Position {
  std::uint32_t line = 1, column = 1;
};

/// What every operation of a template needs: bounds to keep, and a place for errors to name.
class Guard {
 public:
  Guard(std::string_view name, const Limits& limits) : name_(name), limits_(limits) {}

  /// Counts `steps` operations.
  void charge(std::size_t steps = 1) {
    if (steps > limits_.steps - spent_) out_of_steps();
    spent_ += steps;
  }
  /// Counts work on `bytes` of text.
  void charge_bytes(std::size_t bytes) { charge(1 + bytes / kBytesPerStep); }
  /// Counts `bytes` about to be written after `before`, and refuses texts beyond the limit.
  void charge_growth(std::size_t before, std::size_t bytes);

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    stop(ErrorKind::InvalidArgument, fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void stop(ErrorKind kind, std::string_view what) const;

  const Limits& limits() const { return limits_; }
  const std::string& name() const { return name_; }

  /// The operation at work.
  Position at;
  /// How many levels it is nested.
  int depth = 0;

 private:
  static constexpr std::size_t kBytesPerStep = 256;
  [[noreturn]] void out_of_steps() const;

  std::string name_;
  Limits limits_;
  std::size_t spent_ = 0;
};

/// While it lives, the guard is at `at` and one level deeper.
class Level {
 public:
  Level(Guard& guard, Position at) : guard_(guard), before_(std::exchange(guard.at, at)) {
    if (++guard.depth > guard.limits().depth) too_deep();
  }
  ~Level() {
    guard_.at = before_;
    --guard_.depth;
  }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  void too_deep();
  Guard& guard_;
  Position before_;
};

}  // namespace bora::jinja
