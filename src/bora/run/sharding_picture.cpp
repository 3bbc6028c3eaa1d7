// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "bora/base/text.h"
#include "bora/run/sharding_plan.h"

namespace bora::run {
namespace {

// Layers that are alike, drawn once: "layers.0-11.attn.q_proj.weight".
struct Row {
  std::string label;
  const PlannedParameter* parameter;
};

std::vector<Row> rows_of(const ShardingPlan& plan) {
  std::vector<Row> rows;
  std::map<std::string, std::size_t> seen;  // by path with the layer's number left out
  for (const auto& p : plan.parameters) {
    if (!p.in_layers) {
      rows.push_back({p.path, &p});
      continue;
    }
    const auto first = p.path.find('.'), second = p.path.find('.', first + 1);
    const auto number = p.path.substr(first + 1, second - first - 1), rest = p.path.substr(second);
    const auto [at, is_new] = seen.emplace(p.path.substr(0, first) + rest, rows.size());
    if (is_new) rows.push_back({p.path, &p});
    auto& row = rows[at->second];
    const auto& begin = row.parameter->path;
    const auto begin_number = begin.substr(first + 1, begin.find('.', first + 1) - first - 1);
    if (number != begin_number)
      row.label = fmt::format("{}.{}-{}{}", p.path.substr(0, first), begin_number, number, rest);
  }
  return rows;
}

std::string shape_of(const PlannedParameter& p) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < p.names.size(); ++i)
    parts.push_back(fmt::format("{}={}", p.names[i], p.sizes[i]));
  return "[" + join(parts) + "]";
}

std::string blocks(int n) {
  std::string out;
  const int shown = std::min(n, 8);
  for (int w = 0; w < shown; ++w) out += fmt::format("▏{}", w);
  return out + (shown < n ? fmt::format("▏… {}▕", n - 1) : "▕");
}

// The axes that are cut as bars with the workers in their blocks.
std::string bar(const PlannedParameter& p) {
  if (p.whole()) return "whole on every worker";
  std::string out;
  for (const auto& cut : p.mesh_cuts)
    out += fmt::format("{}{} {} {} each over {}", out.empty() ? "" : " · ", p.names[cut.dim],
                       blocks(cut.blocks), p.sizes[cut.dim] / cut.blocks, cut.mesh_axis);
  if (p.cut.replicated()) return out;
  if (!out.empty()) out += " · ";
  const auto dim = static_cast<std::size_t>(p.cut.dim());
  out += fmt::format("{} {}", p.names[dim], blocks(p.cut.workers()));
  const auto least = p.cut.sizes(0)[dim], most = p.cut.sizes(p.cut.workers() - 1)[dim];
  return out + (least == most ? fmt::format(" {} each", least) : fmt::format(" {} or {} each", least, most));
}

// The first worker that has a block: of a shard over data, one over expert and model.
int holder_of(const PlannedParameter& p, int shard, int block, const mesh::MeshShape& mesh) {
  const int of_model = p.mesh_blocks() / p.experts();
  const int group = p.experts() > 1 ? shard * mesh.expert + block / of_model : shard;
  return group * mesh.workers_per_lane() + block % of_model;
}

std::string color_of(int worker, int workers) {
  return fmt::format("hsl({},55%,60%)", 360 * worker / std::max(1, workers));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string draw_text(const ShardingPlan& plan) {
  const auto rows = rows_of(plan);
  std::size_t label = 0, shape = 0;
  for (const auto& row : rows) {
    label = std::max(label, row.label.size());
    shape = std::max(shape, shape_of(*row.parameter).size());
  }
  std::string out;
  for (const auto& row : rows)
    out += fmt::format("{:<{}}  {:<{}}  {}\n", row.label, label, shape_of(*row.parameter), shape,
                       bar(*row.parameter));
  return out;
}

// Each parameter is a rectangle as wide as it is large; its blocks stand side by side in the workers'
// colours.
std::string draw_svg(const ShardingPlan& plan) {
  constexpr int kRow = 22, kLeft = 330, kWidth = 420, kRight = 330, kTop = 50;
  const auto rows = rows_of(plan);
  std::int64_t largest = 1;
  for (const auto& row : rows) largest = std::max(largest, row.parameter->elements());
  const auto height = kTop + kRow * static_cast<int>(rows.size()) + 10;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"system-ui,sans-serif\" font-size=\"12\">\n{3}\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n<text x=\"10\" y=\"20\" font-size=\"14\">Parameters on {2} workers</text>\n",
      kLeft + kWidth + kRight, height, plan.workers, kPictureMark);
  for (int w = 0; w < std::min(plan.workers, 16); ++w) {
    out += fmt::format(
        "<rect x=\"{}\" y=\"10\" width=\"14\" height=\"14\" fill=\"{}\"/><text x=\"{}\" y=\"22\">{}</text>\n",
        kLeft + 36 * w, color_of(w, plan.workers), kLeft + 36 * w + 18, w);
  }
  int y = kTop;
  for (const auto& row : rows) {
    const auto& p = *row.parameter;
    const double width =
        std::max(3.0, kWidth * static_cast<double>(p.elements()) / static_cast<double>(largest));
    out += fmt::format("<text x=\"10\" y=\"{}\">{}</text>\n", y + 13, escaped(row.label));
    const int columns = p.cut.replicated() ? 1 : p.cut.workers();
    const int mesh_blocks = p.mesh_blocks();
    std::int64_t before = 0, all = p.cut.replicated() ? 1 : p.cut.elements();
    for (int w = 0; w < columns; ++w) {
      const std::int64_t own = p.cut.replicated() ? 1 : p.cut.elements(w);
      const double from = width * static_cast<double>(before) / static_cast<double>(all);
      const double share = width * static_cast<double>(own) / static_cast<double>(all);
      before += own;
      for (int m = 0; m < mesh_blocks; ++m) {  // one above the other
        out += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
            kLeft + from, y + 16.0 * m / mesh_blocks, share, 16.0 / mesh_blocks,
            p.whole() ? std::string("#bbb") : color_of(holder_of(p, w, m, plan.mesh), plan.workers));
      }
    }
    std::vector<std::string> along;
    for (const auto& cut : p.mesh_cuts) along.push_back(fmt::format("along {}", p.names[cut.dim]));
    if (!p.cut.replicated())
      along.push_back(fmt::format("along {}", p.names[static_cast<std::size_t>(p.cut.dim())]));
    const auto how = p.whole() ? " whole" : " cut " + join(along, " and ");
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" fill=\"#555\">{}{}</text>\n", kLeft + width + 8, y + 13,
                       escaped(shape_of(p)), how);
    y += kRow;
  }
  return out + "</svg>\n";
}

}  // namespace bora::run
