// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/report/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "bora/base/html.h"
#include "bora/base/json.h"
#include "bora/base/text.h"

namespace bora::report {
namespace {

constexpr double kWidth = 420, kLeft = 56, kRight = 404, kTop = 8, kBottom = 190, kHeight = 212;
constexpr std::size_t kMostStretches = 300;

Stretch stretch_of(std::span<const Point> points) {
  Stretch s{.least = points[0].value, .greatest = points[0].value};
  for (const auto& p : points) {
    s.mean += p.value / static_cast<double>(points.size());
    s.least = std::min(s.least, p.value);
    s.greatest = std::max(s.greatest, p.value);
  }
  s.step = static_cast<double>(points.front().step + points.back().step) / 2;
  return s;
}

struct Drawn {
  ChartLine line;
  std::vector<Stretch> stretches;
  std::vector<std::int64_t> non_finite;
};

struct Frame {
  double last_step = 1, least = 0, greatest = 1;
  double x(double step) const { return kLeft + (kRight - kLeft) * step / last_step; }
  double y(double value) const { return kBottom - (kBottom - kTop) * (value - least) / (greatest - least); }
};

// A curve that does not change lies in the middle.
void widen(Frame& frame) {
  if (frame.greatest > frame.least) return;
  const double half = frame.least == 0 ? 1 : std::abs(frame.least) / 2;
  frame.least -= half;
  frame.greatest += half;
}

Frame frame_of(const std::vector<Drawn>& all) {
  Frame frame{1, INFINITY, -INFINITY};
  for (const auto& drawn : all) {
    for (const auto& s : drawn.stretches) {
      frame.least = std::min(frame.least, s.least);
      frame.greatest = std::max(frame.greatest, s.greatest);
      frame.last_step = std::max(frame.last_step, s.step);
    }
    for (const auto step : drawn.non_finite)
      frame.last_step = std::max(frame.last_step, static_cast<double>(step));
  }
  widen(frame);
  return frame;
}

std::string mark_text(double value) {
  return std::abs(value) < 1e4 ? fmt::format("{:.4g}", value) : fmt::format("{:.3g}k", value / 1e3);
}

std::string grid(const Frame& frame) {
  std::string out;
  for (const double value : ticks(frame.least, frame.greatest)) {
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", kLeft, frame.y(value), kRight);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 5,
                       frame.y(value) + 4, mark_text(value));
  }
  // The last step has its mark, and those that it would cover have none.
  constexpr double kRoom = 40;
  for (const double step : ticks(0, frame.last_step)) {
    if (step == frame.last_step || kRight - frame.x(step) < kRoom) continue;
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", frame.x(step),
                       kBottom + 16, human_count(step));
  }
  return out + fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kRight,
                           kBottom + 16,
                           frame.last_step < 1e6 ? with_commas(static_cast<std::int64_t>(frame.last_step))
                                                 : human_count(frame.last_step));
}

std::string path_through(const std::vector<Stretch>& stretches, const Frame& frame) {
  std::string out;
  for (const auto& s : stretches)
    out += fmt::format("{}{:.1f} {:.1f}", out.empty() ? 'M' : 'L', frame.x(s.step), frame.y(s.mean));
  return out;
}

// Along the greatest values and back along the least.
std::string band_around(const std::vector<Stretch>& stretches, const Frame& frame) {
  std::string out;
  for (const auto& s : stretches)
    out += fmt::format("{}{:.1f} {:.1f}", out.empty() ? 'M' : 'L', frame.x(s.step), frame.y(s.greatest));
  for (auto s = stretches.rbegin(); s != stretches.rend(); ++s)
    out += fmt::format("L{:.1f} {:.1f}", frame.x(s->step), frame.y(s->least));
  return out + "Z";
}

std::string drawing(const Drawn& drawn, const Frame& frame) {
  const auto color = drawn.line.color % 8;
  if (drawn.stretches.size() == 1) {
    const auto& only = drawn.stretches.front();
    return fmt::format("<circle class=\"f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", color,
                       frame.x(only.step), frame.y(only.mean));
  }
  return fmt::format("<path class=\"band f{0}\" d=\"{1}\"/><path class=\"line s{0}\" d=\"{2}\"/>", color,
                     band_around(drawn.stretches, frame), path_through(drawn.stretches, frame));
}

std::string marks(const Drawn& drawn, const Frame& frame) {
  std::string out;
  for (const auto step : drawn.non_finite) {
    out += fmt::format(
        "<path class=\"bad\" d=\"M{:.1f} {:.1f}l-4 7h8z\"><title>step {}: not finite</title></path>",
        frame.x(static_cast<double>(step)), kBottom - 7, step);
  }
  return out;
}

// What the script shows under the pointer.
std::string data_of(const std::vector<Drawn>& all, const Frame& frame) {
  Json json = {{"last", frame.last_step}, {"lines", Json::array()}};
  for (const auto& drawn : all) {
    Json steps = Json::array(), values = Json::array();
    for (const auto& s : drawn.stretches) steps.push_back(s.step), values.push_back(s.mean);
    json["lines"].push_back({{"name", drawn.line.name}, {"steps", steps}, {"values", values}});
  }
  auto text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (auto at = text.find('<'); at != text.npos; at = text.find('<', at)) text.replace(at, 1, "\\u003c");
  return text;
}

std::vector<Drawn> drawn_lines(std::span<const ChartLine> lines) {
  std::vector<Drawn> all;
  for (const auto& line : lines) {
    Drawn drawn{line, stretches(*line.curve, kMostStretches), non_finite_steps(*line.curve)};
    if (!drawn.stretches.empty()) all.push_back(std::move(drawn));
  }
  return all;
}

}  // namespace

std::vector<Stretch> stretches(const Curve& curve, std::size_t most) {
  Curve finite;
  for (const auto& p : curve)
    if (std::isfinite(p.value)) finite.push_back(p);
  const auto count = std::min(most, finite.size());
  std::vector<Stretch> out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = i * finite.size() / count, end = (i + 1) * finite.size() / count;
    out.push_back(stretch_of(std::span(finite).subspan(begin, end - begin)));
  }
  return out;
}

std::vector<std::int64_t> non_finite_steps(const Curve& curve) {
  std::vector<std::int64_t> steps;
  for (const auto& p : curve)
    if (!std::isfinite(p.value)) steps.push_back(p.step);
  return steps;
}

std::vector<double> ticks(double least, double greatest) {
  const double rough = (greatest - least) / 5;
  if (!(rough > 0) || !std::isfinite(rough)) return {least};
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double part = rough / power;
  const double apart = power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
  std::vector<double> out;
  const auto first = std::ceil(least / apart), last = std::floor(greatest / apart);
  for (double i = first; i <= last; ++i) out.push_back(i * apart);
  return out;
}

std::string chart(const std::string& title, std::span<const ChartLine> lines) {
  const auto all = drawn_lines(lines);
  if (all.empty()) return "";
  const auto frame = frame_of(all);
  std::string inner = grid(frame);
  for (const auto& drawn : all) inner += drawing(drawn, frame);
  for (const auto& drawn : all) inner += marks(drawn, frame);
  return fmt::format(
      "<figure><figcaption>{0} <output></output></figcaption><svg viewBox=\"0 0 {1} {2}\" role=\"img\" "
      "aria-label=\"{0} by step\">{3}<path class=\"at\" d=\"\"/></svg>"
      "<script type=\"application/json\">{4}</script></figure>\n",
      html_text(title), kWidth, kHeight, inner, data_of(all, frame));
}

}  // namespace bora::report
