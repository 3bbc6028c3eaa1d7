// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/track/json_lines.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "bora/base/error.h"
#include "bora/base/json.h"

namespace bora::track {
namespace {

constexpr std::size_t kMaxPending = std::size_t{16} << 20;

/// The N of a line {"step":N,...}.
std::optional<std::int64_t> step_of(std::string_view line) {
  constexpr std::string_view kStart = R"({"step":)";
  if (!line.starts_with(kStart)) return std::nullopt;
  std::int64_t step = 0;
  const char* end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data() + kStart.size(), end, step);
  if (error != std::errc{} || rest == end || (*rest != ',' && *rest != '}')) return std::nullopt;
  return step;
}

/// Size of the front part of `text` that consists of whole lines of steps before `first_step`, with so many of the
/// step before it.
std::uint64_t size_to_keep(std::string_view text, std::int64_t first_step, std::int64_t of_step_before) {
  std::size_t keep = 0;
  while (true) {
    const auto end = text.find('\n', keep);
    if (end == std::string_view::npos) return keep;
    const auto step = step_of(text.substr(keep, end - keep));
    if (step && *step >= first_step) return keep;
    if (step && *step == first_step - 1 && of_step_before-- == 0) return keep;
    keep = end + 1;
  }
}

}  // namespace

std::string json_number(double value) {
  if (std::isnan(value)) return R"("NaN")";
  if (std::isinf(value)) return value > 0 ? R"("Infinity")" : R"("-Infinity")";
  return fmt::format("{}", value);
}

std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

JsonLines::JsonLines(std::string path, std::int64_t first_step, std::int64_t of_step_before)
    : path_(std::move(path)) {
  if (const auto info = files().info(path_)) {
    const auto file = files().open(path_);
    const auto bytes = file->map();
    size_ =
        size_to_keep({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, first_step, of_step_before);
  }
  open();
}

void JsonLines::open() {
  const auto info = files().info(path_);
  if (info && info->size > size_) files().truncate(path_, size_);
  file_ = files().append(path_, Access::Owner);
}

void JsonLines::append(std::string_view line) {
  if (pending_.size() + line.size() >= kMaxPending) {
    fail(ErrorKind::Io, "{}: {} bytes wait to be written; a line is dropped\nhint: free space on the disk",
         path_, pending_.size());
  }
  pending_.append(line).push_back('\n');
  write_pending();
}

void JsonLines::write_pending() {
  if (pending_.empty()) return;
  if (!file_) open();
  try {
    file_->write(as_bytes(pending_));
  } catch (...) {
    file_.reset();  // the next open() cuts off what a failed write has left
    throw;
  }
  size_ += pending_.size();
  pending_.clear();
}

void JsonLines::sync() {
  write_pending();
  if (file_) file_->sync();
}

void JsonLines::close() {
  write_pending();
  if (!file_) return;
  file_->sync();
  const auto file = std::move(file_);
  file->close();
}

}  // namespace bora::track
