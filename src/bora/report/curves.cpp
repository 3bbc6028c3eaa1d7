// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/report/curves.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

#include "bora/base/file.h"
#include "bora/base/json_view.h"

namespace bora::report {
namespace {

constexpr std::uint64_t kTail = 64 * 1024;

double number_of(const JsonView& value) {
  if (!value.is_string()) return value.number();
  const auto text = value.string();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  value.bad("should be a number, NaN, Infinity or -Infinity");
}

void add_line(Curves& curves, std::string_view line, std::string where) {
  const JsonDocument document(line, std::move(where));
  const auto step = document.root().at("step").integer();
  document.root().each_member([&](std::string_view key, const JsonView& value) {
    const bool is_number = key != "step" && key != "time" && !value.is_object() && !value.is_array();
    if (is_number) curves[std::string(key)].push_back({step, number_of(value)});
  });
}

// Whole lines alone.
Curves curves_of(std::string_view text, const std::string& file, std::string_view part) {
  Curves curves;
  std::int64_t number = 0;
  while (true) {
    const auto end = text.find('\n');
    if (end == text.npos) return curves;
    add_line(curves, text.substr(0, end), fmt::format("{}: {}line {}", file, part, ++number));
    text.remove_prefix(end + 1);
  }
}

// From the first line that begins in the file's last bytes.
std::string tail_of(const std::string& path) {
  const auto file = files().open(path);
  const auto size = file->size();
  const auto begin = size > kTail ? size - kTail : 0;
  std::string text(size - begin, '\0');
  text.resize(file->read_at(begin, std::as_writable_bytes(std::span(text))));
  if (begin == 0) return text;
  const auto end = text.find('\n');
  return end == text.npos ? "" : text.substr(end + 1);
}

}  // namespace

std::optional<double> usual(const Curves& curves, const std::string& name) {
  constexpr std::size_t kRecent = 100;
  const auto found = curves.find(name);
  if (found == curves.end()) return std::nullopt;
  std::vector<double> values;
  for (const auto& point : found->second)
    if (std::isfinite(point.value)) values.push_back(point.value);
  if (values.size() > kRecent) values.erase(values.begin(), values.end() - kRecent);
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Curves read_curves(const std::string& file) {
  return exists(file) ? curves_of(read_text(file), file, "") : Curves();
}

Curves read_last_curves(const std::string& file) {
  return exists(file) ? curves_of(tail_of(file), file, "in its end, ") : Curves();
}

}  // namespace bora::report
