// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/rope.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <mutex>
#include <numbers>
#include <tuple>
#include <utility>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/mapping.h"
#include "bora/core/step_graph.h"
#include "bora/core/update.h"
#include "bora/nn/kv_cache.h"

namespace bora::nn {

/// The angles that were made last, of at most so many values unless those of one sequence are more.
class RecentAngles {
 public:
  using Angles = std::pair<core::Array, core::Array>;

  template <class Make>
  Angles of(std::int64_t first, std::int64_t n, std::int64_t length, const Make& make) {
    if (core::in_noted_pass()) return make();  // what is kept here may go before the pass is done again
    const std::lock_guard lock(mutex_);
    for (const auto& known : known_)
      if (known.first == first && known.n == n && known.length == length) return known.angles;
    known_.push_back({first, n, length, make()});
    values_ += known_.back().angles.first.numel();
    while (values_ > kMost && known_.size() > 1) {
      values_ -= known_.front().angles.first.numel();
      known_.pop_front();
    }
    return known_.back().angles;
  }

 private:
  static constexpr std::int64_t kMost = 1 << 20;
  struct Known {
    std::int64_t first, n, length;
    Angles angles;
  };
  std::mutex mutex_;
  std::deque<Known> known_;
  std::int64_t values_ = 0;
};

namespace {

constexpr double kPi = std::numbers::pi;

// Frequencies in float, as the reference computes them, so that long positions round alike.
std::vector<float> base_frequencies(double theta, std::int64_t head_dim) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < head_dim; i += 2) {
    auto exponent = static_cast<float>(i) / static_cast<float>(head_dim);
    out.push_back(1.0F / std::pow(static_cast<float>(theta), exponent));
  }
  return out;
}

float llama3_frequency(const RopeConfig& c, float f) {
  double wavelength = 2 * kPi / f;
  auto context = static_cast<double>(c.original_max_position_embeddings);
  if (wavelength > context / c.low_freq_factor) return static_cast<float>(f / c.factor);
  if (wavelength < context / c.high_freq_factor) return f;
  double s = (context / wavelength - c.low_freq_factor) / (c.high_freq_factor - c.low_freq_factor);
  return static_cast<float>((1 - s) * f / c.factor + s * f);
}

// The dimension whose wave turns `rotations` times over the original context.
double yarn_dimension(const RopeConfig& c, double rotations, std::int64_t head_dim) {
  auto context = static_cast<double>(c.original_max_position_embeddings);
  return static_cast<double>(head_dim) * std::log(context / (rotations * 2 * kPi)) / (2 * std::log(c.theta));
}

void apply_yarn(const RopeConfig& c, std::int64_t head_dim, std::vector<float>& f) {
  double low = yarn_dimension(c, c.beta_fast, head_dim), high = yarn_dimension(c, c.beta_slow, head_dim);
  if (c.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(head_dim - 1));
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < f.size(); ++i) {
    double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    f[i] = static_cast<float>(f[i] / c.factor * ramp + f[i] * (1 - ramp));
  }
}

double yarn_scale(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

double attention_factor(const RopeConfig& c, std::int64_t positions) {
  if (c.type != "yarn" && c.type != "longrope") return 1;
  if (c.attention_factor) return *c.attention_factor;
  const auto original = c.original_max_position_embeddings;
  if (c.type == "longrope")
    return longrope_scale(static_cast<double>(positions) / static_cast<double>(original), original);
  if (c.mscale && c.mscale_all_dim)
    return yarn_scale(c.factor, *c.mscale) / yarn_scale(c.factor, *c.mscale_all_dim);
  return yarn_scale(c.factor, 1);
}

// Each divided by its own factor; the product is rounded first, as the reference rounds it.
std::vector<float> longrope_frequencies(const RopeConfig& c, std::int64_t head_dim,
                                        const std::vector<double>& factors) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < head_dim; i += 2) {
    const auto exponent = static_cast<float>(i) / static_cast<float>(head_dim);
    const auto factor = static_cast<float>(factors[static_cast<std::size_t>(i / 2)]);
    out.push_back(1.0F / (factor * std::pow(static_cast<float>(c.theta), exponent)));
  }
  return out;
}

void check(const RopeConfig& c, std::int64_t head_dim) {
  if (c.type != "longrope") return;
  for (const auto& [name, list] :
       {std::pair{"short_factor", &c.short_factor}, {"long_factor", &c.long_factor}}) {
    if (2 * std::ssize(*list) == head_dim) continue;
    fail(ErrorKind::Config,
         "rope: {} has {} entries, but {} dimensions of a head turn in pairs\nhint: {} entries", name,
         list->size(), head_dim, head_dim / 2);
  }
}

std::vector<float> frequencies(const RopeConfig& c, std::int64_t head_dim) {
  auto f = base_frequencies(c.theta, head_dim);
  if (c.type == "linear") {
    for (auto& x : f) x = static_cast<float>(x / c.factor);
  } else if (c.type == "llama3") {
    for (auto& x : f) x = llama3_frequency(c, x);
  } else if (c.type == "yarn") {
    apply_yarn(c, head_dim, f);
  }
  return f;
}

std::pair<core::Array, core::Array> cos_and_sin(const std::vector<float>& f, float scale, std::int64_t first,
                                                std::int64_t n) {
  std::vector<float> cos, sin;
  for (std::int64_t p = first; p < first + n; ++p) {
    for (float x : f) {
      float angle = static_cast<float>(p) * x;
      cos.push_back(std::cos(angle) * scale);
      sin.push_back(std::sin(angle) * scale);
    }
  }
  constexpr std::array<std::string_view, 2> names{"position", "half"};
  std::array<std::int64_t, 2> sizes{n, static_cast<std::int64_t>(f.size())};
  core::Shape shape{names, sizes};
  return {core::from_data(shape, std::span<const float>(cos)),
          core::from_data(shape, std::span<const float>(sin))};
}

// The base of a sequence beyond the original context, in float as the reference computes it.
float dynamic_theta(const DynamicRope& d, std::int64_t length) {
  const auto stretch =
      static_cast<float>(d.factor) * static_cast<float>(length) / static_cast<float>(d.original) -
      static_cast<float>(d.factor - 1);
  const auto dims = static_cast<float>(d.head_dim);
  return static_cast<float>(d.theta) * std::pow(stretch, dims / (dims - 2));
}

int dimension(const core::Operand& x, std::string_view axis) {
  return static_cast<int>(std::find(x.names.begin(), x.names.end(), axis) - x.names.begin());
}

}  // namespace

RopeTable RopeTable::make(const RopeConfig& config, std::int64_t head_dim, std::int64_t positions) {
  check(config, head_dim);
  const auto scale = static_cast<float>(nn::attention_factor(config, positions));
  RopeTable table;
  table.short_positions = config.short_positions();
  if (config.type == "dynamic" && positions > config.original_max_position_embeddings) {
    table.dynamic = {config.theta, config.factor, head_dim, config.original_max_position_embeddings,
                     std::make_shared<RecentAngles>()};
    positions = config.original_max_position_embeddings;
  }
  if (table.short_positions == 0) {
    std::tie(table.cos, table.sin) = cos_and_sin(frequencies(config, head_dim), scale, 0, positions);
    return table;
  }
  std::tie(table.cos, table.sin) = cos_and_sin(longrope_frequencies(config, head_dim, config.short_factor),
                                               scale, 0, std::min(positions, table.short_positions));
  std::tie(table.long_cos, table.long_sin) =
      cos_and_sin(longrope_frequencies(config, head_dim, config.long_factor), scale, 0, positions);
  return table;
}

namespace {

// Zeros for positions behind the text's end (they fill a row up, nn/kv_cache.h) that the table has not.
core::Array rows_of(const core::Array& table, std::int64_t first, std::int64_t n, std::int64_t length) {
  const auto held = core::whole_size(table, 0) - first;
  if (n <= held || first + n <= length) return core::read_slice(table, 0, first, n);
  constexpr std::array<std::string_view, 2> names{"position", "n"};
  const std::array<std::int64_t, 2> sizes{n, core::whole_size(table, 1)};
  core::Array all = core::zeros({names, sizes});
  core::write_slice(all, 0, 0, core::read_slice(table, 0, first, held));
  return all;
}

}  // namespace

std::pair<core::Array, core::Array> RopeTable::angles(std::int64_t first, std::int64_t n,
                                                      std::int64_t length) const {
  if (has_own_base(length)) {
    return dynamic->recent->of(first, n, length, [&] {
      return cos_and_sin(base_frequencies(dynamic_theta(*dynamic, length), dynamic->head_dim), 1, first, n);
    });
  }
  const bool longer = is_long(length);
  return {rows_of(longer ? long_cos : cos, first, n, length),
          rows_of(longer ? long_sin : sin, first, n, length)};
}

core::Array detail::rope_on(const core::Operand& x, std::string_view position, std::string_view dim,
                            const RopeTable& table) {
  const auto length = core::whole_size(x.array, dimension(x, position));
  if (table.has_own_base(length)) {
    const auto [cos, sin] = table.angles(0, length, length);
    return core::rope(x, position, dim, cos, sin, table.pairs);
  }
  const bool is_long = table.is_long(length);
  return core::rope(x, position, dim, is_long ? table.long_cos : table.cos,
                    is_long ? table.long_sin : table.sin, table.pairs);
}

core::Array detail::rope_on(const core::Operand& x, std::string_view position, std::string_view dim,
                            const RopeTable& table, const CachePass& pass) {
  const auto n = core::whole_size(x.array, dimension(x, position));
  std::int64_t long_rows = 0;
  bool one_base = true;
  for (std::int64_t r = 0; r < pass.rows(); ++r) {
    const auto first = pass.first_position(r), length = pass.text_length(r, n);
    if (table.has_own_base(length)) one_base = false;
    const bool is_long = table.is_long(length);
    long_rows += is_long ? 1 : 0;
    if (!is_long || first == 0 || table.is_long(pass.cached_text_length(r))) continue;
    fail(ErrorKind::InvalidArgument,
         "rope: {} cached positions have the angles of sequences up to {}, and with {} more it is a longer "
         "one\nhint: truncate the row to 0 and read it again from its beginning",
         first, table.short_positions, n);
  }
  const bool alike = one_base && (long_rows == 0 || long_rows == pass.rows());
  if (const auto names = pass.rows_as_positions(x, position); alike && !names.empty()) {
    return core::rope({x.array, names}, position, dim,
                      pass.at_first_positions(long_rows > 0 ? table.long_cos : table.cos),
                      pass.at_first_positions(long_rows > 0 ? table.long_sin : table.sin), table.pairs);
  }
  return pass.by_row(x.array, [&](const core::Array& row, std::int64_t r) {
    const auto [cos, sin] = table.angles(pass.first_position(r), n, pass.text_length(r, n));
    return core::rope({row, x.names}, position, dim, cos, sin, table.pairs);
  });
}

}  // namespace bora::nn
