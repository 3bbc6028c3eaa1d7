// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/hf_columns.h"

#include <algorithm>
#include <charconv>

#include "bora/base/error.h"

namespace bora::checkpoint {
namespace {

// Calls f(place in the parameter, place in the tensor) for each value.
template <class F>
void each_place(const HfParameter& p, const F& f) {
  const auto shape = hf_shape(p);
  const auto& [first, step] = p.columns;
  const auto places = shape.front(), outs = shape.back() / step, ins = shape.size() == 3 ? shape[1] : 1;
  for (std::int64_t e = 0; e < places; ++e)
    for (std::int64_t i = 0; i < ins; ++i)
      for (std::int64_t o = 0; o < outs; ++o)
        f(static_cast<std::size_t>((e * outs + o) * ins + i),
          static_cast<std::size_t>(((e * ins + i) * outs + o) * step + first));
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

}  // namespace

std::optional<HfParameter::Columns> parse_columns(std::string_view name) {
  const auto open = name.find('[');
  if (open == name.npos) return std::nullopt;
  const auto colons = name.find("::", open);
  if (colons != name.npos && name.ends_with(']')) {
    const auto before = name.substr(open + 1, colons - open - 1);
    const auto first = before.empty() ? 0 : number(before);
    const auto step = number(name.substr(colons + 2, name.size() - colons - 3));
    if (first && step && *first >= 0 && *first < *step) return HfParameter::Columns{*first, *step};
  }
  fail(ErrorKind::InvalidArgument,
       "{}: no slice of columns\nhint: [first::step], first below step, as in [1::2]", name);
}

std::vector<std::int64_t> shape_of_columns(std::vector<std::int64_t> sizes,
                                           const HfParameter::Columns& columns) {
  std::reverse(sizes.begin() + 1, sizes.end());
  sizes.back() *= columns.step;
  return sizes;
}

void put_columns(const HfParameter& p, std::span<const float> whole, std::span<float> tensor) {
  each_place(p, [&](std::size_t own, std::size_t there) { tensor[there] = whole[own]; });
}
void take_columns(const HfParameter& p, std::span<const float> tensor, std::span<float> whole) {
  each_place(p, [&](std::size_t own, std::size_t there) { whole[own] = tensor[there]; });
}

}  // namespace bora::checkpoint
