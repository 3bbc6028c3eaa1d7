// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace bora {
class Binder;
}

namespace bora::data {

/// Sequences per batch, by step: one number, or stages `{start, value}` from step 0 on.
class BatchSchedule {
 public:
  struct Stage {
    std::int64_t start = 0;  ///< the first step
    std::int64_t value = 0;  ///< sequences per batch
    bool operator==(const Stage&) const = default;
  };

  BatchSchedule(std::int64_t batch_size = 512)
      : BatchSchedule(std::vector<Stage>{{0, batch_size}}) {}  // NOLINT
  /// Errors: Config unless the first start is 0, starts grow and values are positive.
  explicit BatchSchedule(std::vector<Stage> stages);

  std::int64_t batch_size(std::int64_t step) const;
  /// Sequences before `step`: its batch holds [offset(step), offset(step + 1)). O(log stages).
  std::int64_t offset(std::int64_t step) const;
  /// The step whose batch holds sequence `index`.
  std::int64_t step_of(std::int64_t index) const;
  /// Steps that `sequences` fill; with `partial`, a last batch that is not full counts.
  std::int64_t num_steps(std::int64_t sequences, bool partial) const;

  std::int64_t largest() const;
  bool is_constant() const { return stages_.size() == 1; }
  const std::vector<Stage>& stages() const { return stages_; }
  bool operator==(const BatchSchedule&) const = default;

 private:
  std::vector<Stage> stages_;
  std::vector<std::int64_t> offsets_;  // of each stage's start
};

/// Binds a schedule as Levanter writes it: `32`, or `[{start: 0, value: 32}, {start: 1000, value: 64}]`.
void bind_batch_schedule(Binder& binder, std::string_view name, BatchSchedule& schedule,
                         std::string_view doc = {});

}  // namespace bora::data
