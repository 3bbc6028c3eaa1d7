// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Grammar. Lines end in one line feed; numbers are the shortest that read back as the same double; numbers
// that JSON lacks are the strings "NaN", "Infinity", "-Infinity". Names keep the order in which they were
// logged.
//   metrics.jsonl   line = {"step":N,"<name>":number,...}
//                        |
//                        {"step":N,"<name>":{"min":number,"max":number,"limits":[number,...],"counts":[number,...]}}
//   timing.jsonl    line = {"step":N,"time":seconds since the epoch,"<name>":number,...}
//   text.jsonl      line = {"step":N,"name":"<name>","text":"..."}
//   summary.json    {"<name>":number,...} sorted by name;   hyperparameters.json   the configuration as given
#include "bora/track/jsonl_tracker.h"

#include <fmt/core.h>

#include <limits>

#include "bora/base/file.h"

namespace bora::track {
namespace {

JsonlOptions with_directory(JsonlOptions options) {
  files().make_directories(options.directory);
  return options;
}

std::string start_of(std::int64_t step) { return fmt::format(R"({{"step":{})", step); }

void add_number(std::string& line, std::string_view name, double value) {
  line += fmt::format(",{}:{}", json_string(name), json_number(value));
}

std::string json_numbers(std::span<const double> values) {
  std::string out;
  for (double value : values) out += (out.empty() ? "" : ",") + json_number(value);
  return '[' + out + ']';
}

}  // namespace

JsonlTracker::JsonlTracker(JsonlOptions options)
    : options_(with_directory(std::move(options))),
      metrics_(path_join(options_.directory, "metrics.jsonl"), options_.first_step, lines_before(1)),
      timing_(path_join(options_.directory, "timing.jsonl"), options_.first_step, lines_before(1)),
      text_(path_join(options_.directory, "text.jsonl"), options_.first_step, lines_before(0)) {}

std::int64_t JsonlTracker::lines_before(std::int64_t of_training) const {
  return options_.ends_again ? of_training : std::numeric_limits<std::int64_t>::max();
}

void JsonlTracker::log(std::int64_t step, std::span<const Metric> metrics) {
  const std::string start = start_of(step);
  std::string steady = start, timing = start;
  for (const auto& [name, value] : metrics) {
    if (is_deterministic_metric(name)) {
      add_number(steady, name, value);
      continue;
    }
    if (timing.size() == start.size()) add_number(timing, "time", options_.wall_clock());
    add_number(timing, name, value);
  }
  if (steady.size() > start.size()) metrics_.append(steady + '}');
  if (timing.size() > start.size()) timing_.append(timing + '}');
}

void JsonlTracker::log_text(std::int64_t step, std::string_view name, std::string_view text) {
  text_.append(
      fmt::format(R"({},"name":{},"text":{}}})", start_of(step), json_string(name), json_string(text)));
}

void JsonlTracker::log_histogram(std::int64_t step, std::string_view name, const Histogram& h) {
  metrics_.append(fmt::format(R"({},{}:{{"min":{},"max":{},"limits":{},"counts":{}}}}})", start_of(step),
                              json_string(name), json_number(h.min), json_number(h.max),
                              json_numbers(h.limits), json_numbers(h.counts)));
}

void JsonlTracker::log_summary(std::span<const Metric> metrics) {
  for (const auto& [name, value] : metrics) summary_[name] = value;
  std::string text;
  for (const auto& [name, value] : summary_) {
    text += fmt::format("{}  {}: {}", text.empty() ? "" : ",\n", json_string(name), json_number(value));
  }
  write_atomically(path_join(options_.directory, "summary.json"), "{\n" + text + "\n}\n", Access::Owner);
}

void JsonlTracker::log_hyperparameters(const Json& values) {
  write_atomically(path_join(options_.directory, "hyperparameters.json"),
                   values.dump(2, ' ', false, Json::error_handler_t::replace) + '\n', Access::Owner);
}

void JsonlTracker::flush() {
  metrics_.sync();
  timing_.sync();
  text_.sync();
}

void JsonlTracker::finish() {
  metrics_.close();
  timing_.close();
  text_.close();
}

}  // namespace bora::track
