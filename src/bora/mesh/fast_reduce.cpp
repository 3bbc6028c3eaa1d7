// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/fast_reduce.h"

#include <algorithm>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/trace.h"
#include "bora/core/create.h"

namespace bora::mesh {
namespace {

core::Array zeros_of(const std::vector<std::int64_t>& sizes) {
  constexpr std::string_view kNames[] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};
  return core::zeros({core::Names(kNames).first(sizes.size()), sizes});
}

}  // namespace

FastReducer::FastReducer(Communicator& communicator, std::span<const core::Array* const> like)
    : c_(communicator), own_(like.size()) {
  for (const auto* array : like) sizes_.push_back(array->sizes());
}

void FastReducer::finish(std::span<const double> scalars) {
  scalars_.resize(std::max(scalars_.size(), scalars.size()));
  for (std::size_t i = 0; i < scalars.size(); ++i) scalars_[i] += scalars[i];
}

LaneSum FastReducer::reduce(std::int64_t lanes) {
  LaneSum sum{0, lanes, std::exchange(own_, std::vector<core::Array>(sizes_.size())),
              std::exchange(scalars_, {})};
  if (c_.size() == 1) return sum;
  // Which arrays there are anywhere, and the scalars, in the order of workers; one without lanes has none.
  std::vector<std::byte> present;
  for (const auto& array : sum.arrays) present.push_back(array.empty() ? std::byte{0} : std::byte{1});
  std::vector<std::byte> all(present.size() * static_cast<std::size_t>(c_.size()));
  c_.all_gather(present, all);
  std::vector<double> total;
  for (const auto& bytes : c_.all_gather_unequal(std::as_bytes(std::span(sum.scalars)))) {
    const std::span theirs(reinterpret_cast<const double*>(bytes.data()), bytes.size() / sizeof(double));
    total.resize(std::max(total.size(), theirs.size()));
    for (std::size_t i = 0; i < theirs.size(); ++i) total[i] += theirs[i];
  }
  sum.scalars = std::move(total);
  for (std::size_t a = 0; a < sizes_.size(); ++a) {
    bool any = false;
    for (std::size_t at = a; at < all.size(); at += sizes_.size()) any |= all[at] != std::byte{0};
    if (!any) continue;
    auto& array = sum.arrays[a];
    if (array.empty()) array = zeros_of(sizes_[a]);
    c_.all_reduce({array.data<float>(), static_cast<std::size_t>(array.numel())});
  }
  return sum;
}

}  // namespace bora::mesh
