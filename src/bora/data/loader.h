// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "bora/data/batch_schedule.h"
#include "bora/data/dataset.h"
#include "bora/data/spec_augment.h"

namespace bora::data {

/// Rows [begin, end) of a batch: a worker reads only its own.
struct RowRange {
  std::int64_t begin = 0, end = 0;
  bool operator==(const RowRange&) const = default;
};

/// Sequences as a model takes them, row after row: element [row, t] is at row * seq_len + t. Inputs are the
/// tokens; position t should predict targets[t], which counts loss_weights[t].
struct Batch {
  std::int64_t step = 0;
  std::int64_t sequences = 0;  ///< rows here, padding included
  std::int64_t seq_len = 0;
  std::vector<std::int32_t> tokens, targets, segments;  ///< [row, position]; padding: 0, 0 and -1
  std::vector<float> loss_weights;                      ///< [row, position]; padding: 0
  std::vector<std::int32_t> sources;                    ///< [row]; padding: -1
  SoundShape sound = {};
  std::vector<float> features = {};  ///< [row, mel bin, frame]; padding: 0
  bool operator==(const Batch&) const = default;
};

/// Makes the targets of tokens: each position's is the token after it; 0 at the end of a row, which predicts
/// nothing and must have no weight.
void set_next_token_targets(Batch& batch);
/// Sequences [first, first + count) of a dataset.
Batch read_batch(const Dataset& dataset, std::int64_t first, std::int64_t count);

/// How features of sound are changed in training: each row's are drawn by the key and by the number of its
/// sequence, counted from step 0.
struct Augmentation {
  SpecAugment stripes;
  Key key;
};

/// Batches of a dataset: batch(step) depends on the dataset, the schedule, the augmentation and the step alone,
/// so that a run may start at any step. Any number of threads may call it.
class Loader {
 public:
  /// Errors: InvalidArgument if the dataset is empty.
  Loader(DatasetPtr dataset, BatchSchedule schedule, std::optional<Augmentation> augmentation = {});

  const Dataset& dataset() const { return *dataset_; }
  const BatchSchedule& schedule() const { return schedule_; }
  /// kEndless, or the steps that read every sequence once; the last batch is padded.
  std::int64_t num_steps() const;

  /// The whole batch of a step, or some of its rows (rows of the whole, in the same order).
  /// Errors: InvalidArgument if the step or the rows do not exist.
  Batch batch(std::int64_t step) const;
  Batch batch(std::int64_t step, RowRange rows) const;
  /// The whole batch, of which only the rows that `wanted` are read; the others are padding.
  using Wanted = std::function<bool(std::int64_t row, std::int64_t batch_size)>;
  Batch batch(std::int64_t step, const Wanted& wanted) const;

 private:
  Batch read(std::int64_t step, RowRange rows, const Wanted& wanted) const;
  DatasetPtr dataset_;
  BatchSchedule schedule_;
  std::optional<Augmentation> augmentation_;
};

}  // namespace bora::data
