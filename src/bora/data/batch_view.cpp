// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/batch_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace bora::data {
namespace {

constexpr std::string_view kGrey = "\x1b[90m", kPlain{}, kYellow = "\x1b[33m", kReset = "\x1b[0m";

RowView view_row(const Batch& batch, std::size_t row, const Decode& decode) {
  const auto n = static_cast<std::size_t>(batch.seq_len), first = row * n;
  RowView view;
  std::vector<std::int32_t> ids;
  const auto finish = [&] {
    if (ids.empty()) return;
    TokenRun& run = view.runs.back();
    run.tokens = static_cast<std::int64_t>(ids.size());
    if (run.segment >= 0) run.text = decode(ids);
    ids.clear();
  };
  for (std::size_t t = 0; t < n; ++t) {
    const std::int32_t segment = batch.segments[first + t];
    const float weight = t == 0 ? 0.0F : batch.loss_weights[first + t - 1];
    view.padding += segment < 0;
    view.counted += weight > 0;
    view.segments = std::max<std::int64_t>(view.segments, segment + 1);
    if (view.runs.empty() || view.runs.back().segment != segment || view.runs.back().weight != weight) {
      finish();
      view.runs.push_back({segment, weight, 0, {}});
    }
    ids.push_back(batch.tokens[first + t]);
  }
  finish();
  return view;
}

/// Without what would move a terminal's cursor; a line feed is shown, and the next line stands behind
/// `margin`.
std::string shown(std::string_view text, std::string_view margin) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\n') {
      out += "\u23ce";
      if (i + 1 < text.size()) out.append("\n").append(margin);
    } else if (c < 0x20) {  // U+2400: pictures of the control characters
      out += "\xe2\x90";
      out += static_cast<char>(0x80 + c);
    } else if (c == 0x7f) {
      out += "\u2421";
    } else if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      out += "\ufffd";  // a C1 control
      ++i;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out;
}

std::string_view paint(float weight) { return weight <= 0 ? kGrey : weight == 1 ? kPlain : kYellow; }

double percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string row_text(const RowView& row, std::int64_t seq_len, bool color) {
  std::string out;
  std::int32_t segment = row.runs.empty() ? 0 : row.runs.front().segment;
  for (const auto& run : row.runs) {
    if (run.segment < 0) {
      out += fmt::format("{:>6} \u2502 ({} tokens of padding)\n", "", run.tokens);
      continue;
    }
    if (run.segment != segment) out += "       \u253c\u2500\u2500\u2500\n";
    segment = run.segment;
    const std::string text = shown(run.text, "       \u2502 ");
    out += fmt::format("{:>6.4g} \u2502 {}{}{}\n", run.weight, color ? paint(run.weight) : "", text,
                       color && !paint(run.weight).empty() ? kReset : "");
  }
  return fmt::format("{} segment{} \u00b7 {:.1f} % padding \u00b7 {:.1f} % of the rest counts\n{}",
                     row.segments, row.segments == 1 ? "" : "s", percent(row.padding, seq_len),
                     percent(row.counted, seq_len - row.padding), out);
}

}  // namespace

double BatchView::padding_share() const {
  std::int64_t padding = 0;
  for (const auto& row : rows) padding += row.padding;
  return percent(padding, seq_len * static_cast<std::int64_t>(rows.size())) / 100;
}

double BatchView::counted_share() const {
  std::int64_t counted = 0, real = 0;
  for (const auto& row : rows) {
    counted += row.counted;
    real += seq_len - row.padding;
  }
  return percent(counted, real) / 100;
}

BatchView view_batch(const Batch& batch, const std::vector<std::string>& sources, const Decode& decode) {
  BatchView view{batch.step, batch.seq_len, {}, {}};
  std::map<std::int32_t, std::int64_t> counts;
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.sequences); ++i) {
    view.rows.push_back(view_row(batch, i, decode));
    const std::int32_t source = batch.sources[i];
    if (source < 0) continue;  // beyond the end of the data
    view.rows.back().source = sources.at(static_cast<std::size_t>(source));
    ++counts[source];
  }
  for (const auto& [source, rows] : counts)
    view.sources.emplace_back(sources.at(static_cast<std::size_t>(source)), rows);
  return view;
}

std::string batch_text(const BatchView& view, bool color) {
  std::string out = fmt::format("step {} \u00b7 {} sequence{} of {} tokens \u00b7 {:.1f} % padding",
                                view.step, view.rows.size(), view.rows.size() == 1 ? "" : "s", view.seq_len,
                                100 * view.padding_share());
  for (const auto& [name, rows] : view.sources) out += fmt::format(" \u00b7 {} {}", name, rows);
  out += "\n";
  for (std::size_t i = 0; i < view.rows.size(); ++i) {
    const RowView& row = view.rows[i];
    out += fmt::format("\nrow {} \u00b7 {} \u00b7 {}", i, row.source.empty() ? "nothing" : row.source,
                       row_text(row, view.seq_len, color));
  }
  return out;
}

}  // namespace bora::data
