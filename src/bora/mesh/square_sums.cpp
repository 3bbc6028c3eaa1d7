// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/square_sums.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/kernels/cpu/square_sum.h"
#include "bora/core/step_ops.h"

namespace bora::mesh {
namespace {

template <class T>
std::vector<T> gathered(core::Collectives& ranks, std::span<const T> mine) {
  std::vector<T> all(mine.size() * static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(std::as_bytes(mine), std::as_writable_bytes(std::span(all)));
  return all;
}

void take_largest(core::Collectives& ranks, std::vector<float>& largest) {
  const auto all = gathered(ranks, std::span<const float>(largest));
  for (std::size_t k = 0; k < all.size(); ++k) {
    float& most = largest[k % largest.size()];
    if (!(all[k] <= most)) most = std::isnan(most) ? most : all[k];  // NaN stays
  }
}

std::vector<float> largest_here(std::span<const core::Array> arrays) {
  core::ReadBack read;
  for (const auto& x : arrays) read.add(x.empty() ? core::Number(0) : core::Number(core::max_abs(x)));
  read.wait();
  std::vector<float> out;
  for (std::size_t i = 0; i < arrays.size(); ++i) out.push_back(static_cast<float>(read.value(i)));
  return out;
}

std::vector<kernels::SquareSum> sums_here(std::span<const core::Array> arrays,
                                          const std::vector<float>& largest) {
  core::ReadBack read;
  std::vector<std::size_t> counted;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].empty() || !std::isfinite(largest[i])) continue;
    const core::DeviceScope there(core::device_of(arrays[i]));
    read.add(core::square_numbers(arrays[i], core::full({}, static_cast<double>(largest[i]))));
    counted.push_back(i);
  }
  read.wait();
  std::vector<kernels::SquareSum> sums(largest.begin(), largest.end());
  for (std::size_t k = 0; k < counted.size(); ++k) {
    kernels::SquareSum::Numbers numbers{};
    std::copy_n(read.values(k).begin(), numbers.size(), numbers.begin());
    sums[counted[k]].add(numbers);
  }
  return sums;
}

}  // namespace

std::vector<double> sums_of_squares(std::span<const core::Array> arrays, std::span<const ShardRanks> shards) {
  if (shards.empty()) {
    core::ReadBack read;
    const PendingSquares squares(arrays, read);
    read.wait();
    return squares.values(read);
  }
  auto largest = largest_here(arrays);
  for (const auto& s : shards) take_largest(*s.ranks, largest);
  auto sums = sums_here(arrays, largest);
  const std::size_t n = arrays.size();
  for (const auto& s : shards) {
    std::vector<kernels::SquareSum::Parts> parts;
    for (const auto& sum : sums) parts.push_back(sum.parts());
    const auto all = gathered(*s.ranks, std::span<const kernels::SquareSum::Parts>(parts));
    for (std::size_t i = 0; i < n; ++i) {
      if (!s.cut[i]) continue;
      sums[i] = kernels::SquareSum(largest[i]);
      for (std::size_t k = i; k < all.size(); k += n) sums[i].add(all[k]);
    }
  }
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(std::isfinite(largest[i]) ? sums[i].value() : static_cast<double>(largest[i]));
  return out;
}

PendingSquares::PendingSquares(std::span<const core::Array> arrays, core::ReadBack& read) {
  std::vector<core::Array> filled;
  for (const auto& x : arrays)
    if (!x.empty()) filled.push_back(x);
  const auto many = core::squares_of_many(filled);
  const std::size_t all_largest = many ? read.add(many->largest) : 0,
                    all_numbers = many ? read.add(many->numbers) : 0;
  std::size_t next = 0;
  for (const auto& x : arrays) {
    auto& place = places_.emplace_back();
    if (x.empty()) continue;
    if (many) {
      place = {true, all_largest, all_numbers, next++};
      continue;
    }
    const core::Array largest = core::max_abs(x);
    place = {true, read.add(largest), read.add(core::square_numbers(x, largest)), 0};
  }
}

std::vector<double> PendingSquares::values(const core::ReadBack& read) const {
  constexpr std::size_t kNumbers = std::tuple_size_v<kernels::SquareSum::Numbers>;
  std::vector<double> out;
  for (const auto& p : places_) {
    out.push_back(p.any ? core::sum_of_squares(read.values(p.largest)[p.index],
                                               read.values(p.numbers).subspan(p.index * kNumbers, kNumbers))
                        : 0);
  }
  return out;
}

}  // namespace bora::mesh
