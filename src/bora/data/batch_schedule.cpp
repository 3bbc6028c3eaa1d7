// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/batch_schedule.h"

#include <algorithm>

#include "bora/base/config.h"
#include "bora/base/error.h"

namespace bora::data {
namespace {

struct StageConfig {
  BatchSchedule::Stage stage;
  void bind(Binder& b) {
    b.field("start", stage.start, kStep, "the first step with this batch size");
    b.field("value", stage.value, kSize, "sequences per batch");
  }
};

void check(const std::vector<BatchSchedule::Stage>& stages) {
  if (stages.empty()) fail(ErrorKind::Config, "batch schedule: it has no stage");
  if (stages.front().start != 0) {
    fail(ErrorKind::Config, "batch schedule: the first stage starts at step {} but should start at 0",
         stages.front().start);
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].value < 1) {
      fail(ErrorKind::Config, "batch schedule: the batch size from step {} on is {} but should be at least 1",
           stages[i].start, stages[i].value);
    }
    if (i > 0 && stages[i].start <= stages[i - 1].start) {
      fail(ErrorKind::Config, "batch schedule: a stage at step {} follows one at step {}; starts should grow",
           stages[i].start, stages[i - 1].start);
    }
  }
}

/// Index of the last element of `sorted` that is at most `value`.
template <class T, class Project>
std::size_t last_at_most(const std::vector<T>& sorted, std::int64_t value, Project project) {
  const auto it = std::upper_bound(sorted.begin(), sorted.end(), value,
                                   [&](std::int64_t v, const T& item) { return v < project(item); });
  return static_cast<std::size_t>(it - sorted.begin()) - 1;
}

std::size_t stage_at(const std::vector<BatchSchedule::Stage>& stages, std::int64_t step) {
  if (step < 0) fail(ErrorKind::InvalidArgument, "batch schedule: there is no step {}", step);
  return last_at_most(stages, step, [](const auto& stage) { return stage.start; });
}

}  // namespace

BatchSchedule::BatchSchedule(std::vector<Stage> stages) : stages_(std::move(stages)) {
  check(stages_);
  offsets_.push_back(0);
  for (std::size_t i = 1; i < stages_.size(); ++i) {
    offsets_.push_back(offsets_.back() + (stages_[i].start - stages_[i - 1].start) * stages_[i - 1].value);
  }
}

std::int64_t BatchSchedule::batch_size(std::int64_t step) const {
  return stages_[stage_at(stages_, step)].value;
}

std::int64_t BatchSchedule::offset(std::int64_t step) const {
  const std::size_t i = stage_at(stages_, step);
  return offsets_[i] + (step - stages_[i].start) * stages_[i].value;
}

std::int64_t BatchSchedule::step_of(std::int64_t index) const {
  if (index < 0) fail(ErrorKind::InvalidArgument, "batch schedule: there is no sequence {}", index);
  const std::size_t i = last_at_most(offsets_, index, [](std::int64_t offset) { return offset; });
  return stages_[i].start + (index - offsets_[i]) / stages_[i].value;
}

std::int64_t BatchSchedule::num_steps(std::int64_t sequences, bool partial) const {
  const std::int64_t step = step_of(sequences);
  return partial && offset(step) < sequences ? step + 1 : step;
}

std::int64_t BatchSchedule::largest() const {
  return std::max_element(stages_.begin(), stages_.end(),
                          [](const Stage& a, const Stage& b) { return a.value < b.value; })
      ->value;
}

void bind_batch_schedule(Binder& binder, std::string_view name, BatchSchedule& schedule,
                         std::string_view doc) {
  std::vector<BatchSchedule::Stage> stages = schedule.stages();
  const bool as_list = binder.reading() ? binder.is_list(name) : !schedule.is_constant();
  if (as_list) {
    std::vector<StageConfig> list;
    for (const auto& stage : stages) list.push_back({stage});
    binder.field(name, list, doc);
    stages.clear();
    for (const auto& item : list) stages.push_back(item.stage);
  } else {
    std::int64_t size = stages.front().value;
    binder.field(name, size, kSize, doc);
    if (!binder.reading() || !binder.present(name)) return;
    stages = {{0, size}};
  }
  if (!binder.reading()) return;
  try {
    schedule = BatchSchedule(stages);
  } catch (const Error& e) {
    binder.problem(name, e.what());
  }
}

}  // namespace bora::data
