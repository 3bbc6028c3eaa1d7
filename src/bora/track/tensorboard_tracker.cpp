// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Grammar (tensorflow/core/util/event.proto, framework/summary.proto, tensorboard/plugins/hparams):
//   file    = record* events.out.tfevents.<seconds>.<host>.<process>.<n><suffix> record  = u64 length, u32
//   masked crc32c(length), data[length], u32 masked crc32c(data)      little endian Event   = {1 wall_time:
//   double, 2 step: int64, one of: 3 file_version: string, 5 summary, 7 session log} Summary = {1 value*}
//   value   = {1 tag: string, 2 number: float | 5 histogram | 8 tensor, 9 metadata {1 {1 plugin: string, 2
//   content}}} HistogramProto = {1 min, 2 max, 3 num, 4 sum, 5 sum_squares: double, 6 bucket_limit*, 7
//   bucket*: packed double} TensorProto    = {1 type: int (1 float, 7 string), 2 shape {2 {1 size}}, 5
//   floats, 8 string*} HParamsPluginData = {1 version, 3 session start {1 map name -> Value, 4 group, 5
//   seconds}, 4 session end {1 status}}
#include "bora/track/tensorboard_tracker.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "bora/base/env.h"
#include "bora/base/hash.h"

namespace bora::track {
namespace {

enum EventField { kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
constexpr int kSessionStart = 1, kSessionSuccess = 1;

std::string file_name(const TensorboardOptions& options) {
  static std::atomic<int> count{0};
  return fmt::format("events.out.tfevents.{:010}.{}.{}.{}{}", static_cast<std::int64_t>(options.wall_clock()),
                     env::hostname().value_or("localhost"), getpid(), count++, options.filename_suffix);
}

std::string little_endian(std::uint64_t value, int size) {
  std::string out;
  for (int i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

ProtoWriter plugin_metadata(std::string_view plugin, std::string_view content = {}) {
  ProtoWriter data, metadata;
  data.bytes(1, plugin);
  if (!content.empty()) data.bytes(2, content);
  metadata.message(1, data);
  return metadata;
}

ProtoWriter shape_of_one() { return ProtoWriter().message(2, ProtoWriter().integer(1, 1)); }

ProtoWriter text_value(std::string_view name, std::string_view text) {
  const auto tensor = ProtoWriter().integer(1, 7).message(2, shape_of_one()).bytes(8, text);
  return ProtoWriter().bytes(1, name).message(8, tensor).message(9, plugin_metadata("text"));
}

ProtoWriter hparams_value(std::string_view tag, const ProtoWriter& data) {
  const auto nothing = ProtoWriter().integer(1, 1).message(2, shape_of_one()).real32(5, 0);
  return ProtoWriter().bytes(1, tag).message(8, nothing).message(9, plugin_metadata("hparams", data.text()));
}

/// google.protobuf.Value: 2 number, 3 string, 4 bool.
ProtoWriter json_value(const Json& value) {
  if (value.is_boolean()) return ProtoWriter().integer(4, value.get<bool>());
  if (value.is_number()) return ProtoWriter().real(2, value.get<double>());
  if (value.is_string()) return ProtoWriter().bytes(3, value.get_ref<const std::string&>());
  return ProtoWriter().bytes(3, value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// Leaves of nested objects, with dotted names, as entries of a map field.
void add_leaves(ProtoWriter& out, int field, const std::string& prefix, const Json& values) {
  for (const auto& [key, value] : values.items()) {
    const std::string name = prefix.empty() ? key : prefix + '.' + key;
    if (value.is_object())
      add_leaves(out, field, name, value);
    else if (!value.is_null()) {
      out.message(field, ProtoWriter().bytes(1, name).message(2, json_value(value)));
    }
  }
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

TensorboardTracker::TensorboardTracker(TensorboardOptions options)
    : options_(std::move(options)), path_(path_join(options_.directory, file_name(options_))) {
  files().make_directories(options_.directory);
  file_ = files().create(path_, Access::Owner);
  files().sync_directory(options_.directory);
  write_event(0, kFileVersion, "brain.Event:2");
  if (options_.first_step > 0) {
    write_event(options_.first_step, kSessionLog, ProtoWriter().integer(1, kSessionStart).text());
  }
}

void TensorboardTracker::write_record(std::string_view data) {
  const std::string length = little_endian(data.size(), 8);
  std::string record = length + little_endian(masked_crc32c(as_bytes(length)), 4);
  record.append(data).append(little_endian(masked_crc32c(as_bytes(data)), 4));
  // After a failed write (a full disk) the next one first cuts off the torn record: readers stop at the first
  // bad one.
  if (!file_) {
    files().truncate(path_, size_);
    file_ = files().append(path_);
  }
  try {
    file_->write(as_bytes(record));
  } catch (...) {
    file_.reset();
    throw;
  }
  size_ += record.size();
}

void TensorboardTracker::write_event(std::int64_t step, int field, std::string_view content) {
  last_step_ = std::max(last_step_, step);
  write_record(ProtoWriter().real(1, options_.wall_clock()).integer(2, step).bytes(field, content).text());
}

void TensorboardTracker::write_summary(std::int64_t step, const ProtoWriter& summary) {
  write_event(step, kSummary, summary.text());
}

void TensorboardTracker::log(std::int64_t step, std::span<const Metric> metrics) {
  if (metrics.empty()) return;
  ProtoWriter summary;
  for (const auto& [name, value] : metrics) {
    summary.message(1, ProtoWriter().bytes(1, name).real32(2, static_cast<float>(value)));
    logged_[name] = value;
  }
  write_summary(step, summary);
}

void TensorboardTracker::log_text(std::int64_t step, std::string_view name, std::string_view text) {
  write_summary(step, ProtoWriter().message(1, text_value(name, text)));
}

void TensorboardTracker::log_histogram(std::int64_t step, std::string_view name, const Histogram& h) {
  ProtoWriter histogram;
  histogram.real(1, h.min).real(2, h.max).real(3, h.count).real(4, h.sum).real(5, h.sum_squares);
  histogram.packed(6, h.limits).packed(7, h.counts);
  write_summary(step, ProtoWriter().message(1, ProtoWriter().bytes(1, name).message(5, histogram)));
}

void TensorboardTracker::log_summary(std::span<const Metric> metrics) {
  // To viewers a final number is the last one of its name: what is there already would be a second point.
  std::vector<Metric> news;
  for (const Metric& metric : metrics) {
    const auto logged = logged_.find(metric.name);
    if (logged == logged_.end() || !same_number(logged->second, metric.value)) news.push_back(metric);
  }
  log(last_step_, news);
}

void TensorboardTracker::log_hyperparameters(const Json& values) {
  ProtoWriter start;
  add_leaves(start, 1, {}, values);
  start.bytes(4, options_.run_id).real(5, options_.wall_clock());
  const auto data = ProtoWriter().integer(1, 0).message(3, start);
  write_summary(0, ProtoWriter().message(1, hparams_value("_hparams_/session_start_info", data)));
}

void TensorboardTracker::flush() {
  if (file_) file_->sync();
}

void TensorboardTracker::finish() {
  const auto end = ProtoWriter().integer(1, kSessionSuccess).real(2, options_.wall_clock());
  const auto data = ProtoWriter().integer(1, 0).message(4, end);
  write_summary(last_step_, ProtoWriter().message(1, hparams_value("_hparams_/session_end_info", data)));
  const auto file = std::move(file_);
  file->sync();
  file->close();
}

}  // namespace bora::track
