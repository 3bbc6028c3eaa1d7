// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/loader.h"

#include "bora/base/error.h"

namespace bora::data {

Loader::Loader(DatasetPtr dataset, BatchSchedule schedule)
    : dataset_(std::move(dataset)), schedule_(std::move(schedule)) {
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
  const std::int64_t seq_len = dataset_->seq_len(), first = schedule_.offset(step);
  const auto n = static_cast<std::size_t>(rows.end - rows.begin), length = static_cast<std::size_t>(seq_len);
  Batch out{step, rows.end - rows.begin, seq_len, {}, {}, {}, {}};
  out.tokens.assign(n * length, 0);
  out.segments.assign(n * length, -1);
  out.loss_weights.assign(n * length, 0.0F);
  out.sources.assign(n, -1);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t index = first + rows.begin + static_cast<std::int64_t>(i);
    if (index >= dataset_->size()) break;
    if (wanted && !wanted(rows.begin + static_cast<std::int64_t>(i), size)) continue;
    const auto part = [&](auto& values) { return std::span(values).subspan(i * length, length); };
    out.sources[i] = dataset_->read(index, {part(out.tokens), part(out.segments), part(out.loss_weights)});
  }
  return out;
}

}  // namespace bora::data
