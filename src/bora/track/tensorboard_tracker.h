// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "bora/base/clock.h"
#include "bora/base/file.h"
#include "bora/track/proto_writer.h"
#include "bora/track/tracker.h"

namespace bora::track {

struct TensorboardOptions {
  std::string directory;        ///< made if missing
  std::string run_id;           ///< the session's name among hyperparameters
  std::int64_t first_step = 0;  ///< where a run resumes: viewers drop older values of this and later steps
  std::string filename_suffix;
  std::function<double()> wall_clock = wall_seconds;  ///< seconds since the epoch
};

/// Event files as TensorBoard reads them: scalars, texts, histograms and hyperparameters (grammar in the
/// .cpp). Every process writes a new file; each event is handed to the operating system at once.
class TensorboardTracker final : public Tracker {
 public:
  explicit TensorboardTracker(TensorboardOptions options);

  std::string_view name() const override { return "tensorboard"; }
  void log(std::int64_t step, std::span<const Metric> metrics) override;
  void log_text(std::int64_t step, std::string_view name, std::string_view text) override;
  void log_histogram(std::int64_t step, std::string_view name, const Histogram& histogram) override;
  void log_summary(std::span<const Metric> metrics) override;
  void log_hyperparameters(const Json& values) override;
  void flush() override;
  void finish() override;

  const std::string& path() const { return path_; }

 private:
  void write_event(std::int64_t step, int field, std::string_view content);
  void write_summary(std::int64_t step, const ProtoWriter& summary);
  void write_record(std::string_view data);

  TensorboardOptions options_;
  std::string path_;
  std::unique_ptr<WriteFile> file_;
  std::uint64_t size_ = 0;  ///< bytes of whole records
  std::int64_t last_step_ = 0;
  std::map<std::string, double> logged_;  ///< the last number of each name
};

}  // namespace bora::track
