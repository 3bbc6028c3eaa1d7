// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/loader.h"

#include <algorithm>
#include <span>

#include "bora/base/error.h"

namespace bora::data {
namespace {

Batch padding(const Dataset& dataset, std::int64_t step, std::int64_t rows) {
  Batch out{.step = step, .sequences = rows, .seq_len = dataset.seq_len(), .sound = dataset.sound()};
  const auto n = static_cast<std::size_t>(rows), size = n * static_cast<std::size_t>(out.seq_len);
  out.features.assign(n * static_cast<std::size_t>(out.sound.size()), 0.0F);
  out.tokens.assign(size, 0);
  out.segments.assign(size, -1);
  out.loss_weights.assign(size, 0.0F);
  out.sources.assign(n, -1);
  return out;
}

std::span<float> features_of(Batch& batch, std::size_t row) {
  const auto size = static_cast<std::size_t>(batch.sound.size());
  return std::span(batch.features).subspan(row * size, size);
}

void read_row(const Dataset& dataset, std::int64_t index, Batch& into, std::size_t row) {
  const auto length = static_cast<std::size_t>(into.seq_len);
  const auto part = [&](auto& values) { return std::span(values).subspan(row * length, length); };
  into.sources[row] = dataset.read(
      index, {part(into.tokens), part(into.segments), part(into.loss_weights), features_of(into, row)});
}

}  // namespace

void set_next_token_targets(Batch& batch) {
  const auto length = static_cast<std::size_t>(batch.seq_len);
  batch.targets.assign(batch.tokens.begin(), batch.tokens.end());
  for (std::size_t row = 0; row < batch.targets.size(); row += length) {
    const auto begin = batch.targets.begin() + static_cast<std::ptrdiff_t>(row);
    *std::copy(begin + 1, begin + batch.seq_len, begin) = 0;
  }
}

Batch read_batch(const Dataset& dataset, std::int64_t first, std::int64_t count) {
  Batch out = padding(dataset, 0, count);
  for (std::int64_t i = 0; i < count; ++i) read_row(dataset, first + i, out, static_cast<std::size_t>(i));
  set_next_token_targets(out);
  return out;
}

Loader::Loader(DatasetPtr dataset, BatchSchedule schedule, std::optional<Augmentation> augmentation)
    : dataset_(std::move(dataset)), schedule_(std::move(schedule)), augmentation_(augmentation) {
  if (dataset_->size() < 1) fail(ErrorKind::InvalidArgument, "loader: the dataset has no sequence");
}

std::int64_t Loader::num_steps() const {
  return dataset_->size() == kEndless ? kEndless : schedule_.num_steps(dataset_->size(), true);
}

Batch Loader::batch(std::int64_t step) const { return batch(step, Wanted()); }
Batch Loader::batch(std::int64_t step, RowRange rows) const { return read(step, rows, {}); }
Batch Loader::batch(std::int64_t step, const Wanted& wanted) const {
  return read(step, {0, schedule_.batch_size(step)}, wanted);
}

Batch Loader::read(std::int64_t step, RowRange rows, const Wanted& wanted) const {
  if (step < 0 || step >= num_steps()) {
    fail(ErrorKind::InvalidArgument, "loader: there is no step {}; the dataset has {}", step, num_steps());
  }
  const std::int64_t size = schedule_.batch_size(step);
  if (rows.begin < 0 || rows.begin > rows.end || rows.end > size) {
    fail(ErrorKind::InvalidArgument, "loader: rows [{}, {}) of a batch of {} at step {}", rows.begin,
         rows.end, size, step);
  }
  const std::int64_t first = schedule_.offset(step) + rows.begin;
  Batch out = padding(*dataset_, step, rows.end - rows.begin);
  for (std::int64_t i = 0; i < out.sequences && first + i < dataset_->size(); ++i) {
    if (wanted && !wanted(rows.begin + i, size)) continue;
    const auto row = static_cast<std::size_t>(i);
    read_row(*dataset_, first + i, out, row);
    if (augmentation_ && out.sound.size() > 0)
      augment(augmentation_->stripes, out.sound,
              augmentation_->key.fold(static_cast<std::uint64_t>(first + i)), features_of(out, row));
  }
  set_next_token_targets(out);
  return out;
}

}  // namespace bora::data
