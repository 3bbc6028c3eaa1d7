// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/data_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "bora/base/html.h"
#include "bora/base/text.h"

namespace bora::data {
namespace {

constexpr std::string_view kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#1b1f24}"
    "table{border-collapse:collapse;margin:1em 0}th,td{padding:.2em .8em;text-align:right}"
    "th:first-child,td:first-child{text-align:left}tr+tr{border-top:1px solid #d8dee4}"
    ".bar{background:#4c8bf5;height:.8em;display:inline-block}.n{color:#667}"
    ".row{border:1px solid #d8dee4;border-radius:6px;margin:1em 0;padding:.8em}"
    ".text{font:13px/1.6 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}"
    ".cut{border:0;border-top:2px dashed #d33;margin:.4em 0}.pad{color:#889}"
    "@media(prefers-color-scheme:dark){body{background:#15181c;color:#e4e8ee}.n{color:#99a}}";

std::string page(std::string_view title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">{}"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>{}</title>\n<style>{}</style></head>\n"
      "<body><h1>{}</h1>\n{}</body></html>\n",
      kPageMark, title, kStyle, title, body);
}

std::string bytes_each(const CacheStats& s) {
  if (s.bytes == 0 || s.tokens == 0) return "";
  return fmt::format("{:.2f}", static_cast<double>(s.bytes) / static_cast<double>(s.tokens));
}

/// The cells of one data set, in the order of kColumns.
std::vector<std::string> cells(const CacheStats& s) {
  return {s.name,
          with_commas(s.tokens),
          with_commas(s.documents),
          bytes_each(s),
          fmt::format("{:.1f}", s.mean()),
          with_commas(s.median),
          with_commas(s.p95),
          with_commas(s.longest),
          fmt::format("{:.2f} %", 100 * s.duplicate_share())};
}

const std::vector<std::string> kColumns = {"data set", "tokens", "documents", "bytes each", "mean",
                                           "median",   "95 %",   "longest",   "duplicates"};

std::string range_of(const CacheStats::Bucket& bucket) {
  if (bucket.least == 0) return "0-1";
  return fmt::format("{}-{}", with_commas(bucket.least), with_commas(2 * bucket.least - 1));
}

std::int64_t most_documents(const CacheStats& s) {
  std::int64_t most = 1;
  for (const auto& bucket : s.lengths) most = std::max(most, bucket.documents);
  return most;
}

/// The buckets from the first to the last that has documents.
std::vector<CacheStats::Bucket> filled(const CacheStats& s) {
  const auto any = [](const CacheStats::Bucket& bucket) { return bucket.documents > 0; };
  return {std::find_if(s.lengths.begin(), s.lengths.end(), any), s.lengths.end()};
}

std::string table_text(const std::vector<CacheStats>& stats) {
  std::vector<std::vector<std::string>> rows{kColumns};
  for (const auto& s : stats) rows.push_back(cells(s));
  std::vector<std::size_t> widths(kColumns.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += i == 0 ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    out += "\n";
  }
  return out;
}

/// From white for 0 to blue for 1 and violet above.
std::string shade(float weight) {
  if (weight <= 0) return "opacity:.45";
  const double strength = std::min(1.0, static_cast<double>(weight));
  return fmt::format("background:rgba({},{:.2f})", weight > 1 ? "160,80,230" : "76,139,245",
                     0.12 + 0.18 * strength);
}

std::string row_html(const RowView& row, std::size_t number, std::int64_t seq_len) {
  std::string out = fmt::format(
      "<div class=\"row\"><b>row {}</b> \u00b7 {} \u00b7 {} segments \u00b7 {} of {} tokens padding \u00b7 "
      "{} "
      "predictions count\n<div class=\"text\">",
      number, html_text(row.source.empty() ? "nothing" : row.source), row.segments, row.padding, seq_len,
      row.counted);
  std::int32_t segment = row.runs.empty() ? 0 : row.runs.front().segment;
  for (const auto& run : row.runs) {
    if (run.segment != segment) out += "<hr class=\"cut\">";
    segment = run.segment;
    if (run.segment < 0)
      out += fmt::format("<span class=\"pad\">{} tokens of padding</span>", run.tokens);
    else
      out += fmt::format("<span style=\"{}\" title=\"segment {}, weight {:.4g}, {} tokens\">{}</span>",
                         shade(run.weight), run.segment, run.weight, run.tokens, html_text(run.text));
  }
  return out + "</div></div>\n";
}

}  // namespace

std::string stats_text(const std::vector<CacheStats>& stats) {
  std::string out = table_text(stats);
  for (const auto& s : stats) {
    out += fmt::format("\n{}: documents by length in tokens\n", s.name);
    const double most = static_cast<double>(most_documents(s));
    for (const auto& bucket : filled(s)) {
      const auto bar = static_cast<int>(std::ceil(40 * static_cast<double>(bucket.documents) / most));
      std::string blocks;
      for (int i = 0; i < bar; ++i) blocks += "\u2588";
      out += fmt::format("{:>21} {:>12} {}\n", range_of(bucket), with_commas(bucket.documents), blocks);
    }
  }
  return out;
}

std::string stats_page(const std::vector<CacheStats>& stats) {
  std::string body = "<table><tr>";
  for (const auto& column : kColumns) body += "<th>" + column + "</th>";
  body += "</tr>\n";
  for (const auto& s : stats) {
    body += "<tr>";
    for (const auto& cell : cells(s)) body += "<td>" + html_text(cell) + "</td>";
    body += "</tr>\n";
  }
  body += "</table>\n";
  for (const auto& s : stats) {
    body += fmt::format("<h2>{}: documents by length in tokens</h2>\n<table>\n", html_text(s.name));
    const double most = static_cast<double>(most_documents(s));
    for (const auto& bucket : filled(s)) {
      body += fmt::format(
          "<tr><td>{}</td><td>{}</td><td style=\"text-align:left\"><span class=\"bar\" "
          "style=\"width:{:.1f}em\">"
          "</span> <span class=\"n\">{} tokens</span></td></tr>\n",
          range_of(bucket), with_commas(bucket.documents), 24 * static_cast<double>(bucket.documents) / most,
          with_commas(bucket.tokens));
    }
    body += "</table>\n";
  }
  return page("Data sets", body);
}

std::string batch_page(const BatchView& view) {
  std::string body =
      fmt::format("<p>{} sequence{} of {} tokens \u00b7 {:.1f} % padding \u00b7 {:.1f} % of the rest counts",
                  view.rows.size(), view.rows.size() == 1 ? "" : "s", view.seq_len,
                  100 * view.padding_share(), 100 * view.counted_share());
  for (const auto& [name, rows] : view.sources) body += fmt::format(" \u00b7 {} {}", html_text(name), rows);
  body +=
      "</p>\n<p class=\"n\">The stronger the shade, the more predicting the text counts; grey text counts "
      "nothing. "
      "A dashed line parts segments, which do not see each other.</p>\n";
  for (std::size_t i = 0; i < view.rows.size(); ++i) body += row_html(view.rows[i], i, view.seq_len);
  return page(fmt::format("Batch of step {}", view.step), body);
}

}  // namespace bora::data
