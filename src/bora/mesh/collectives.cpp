// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/collectives.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bora/base/error.h"

namespace bora::mesh {
namespace {

using Combine = core::Collectives::Combine;

float widen(std::uint16_t bf16) { return std::bit_cast<float>(static_cast<std::uint32_t>(bf16) << 16U); }

// To the nearest, ties to even; not a number stays one.
std::uint16_t round_to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U);
}

// The elements of `workers` rows of `n`, combined in pairs of rows, into row 0.
template <class T>
void combine_rows(T* rows, std::size_t workers, std::size_t n, Combine how) {
  for (std::size_t step = 1; step < workers; step *= 2) {
    for (std::size_t left = 0; left + step < workers; left += 2 * step) {
      T* a = rows + left * n;
      const T* b = rows + (left + step) * n;
      for (std::size_t i = 0; i < n; ++i) a[i] = how == Combine::sum ? a[i] + b[i] : std::max(a[i], b[i]);
    }
  }
}

template <class T>
void combine_into(std::span<std::byte> mine, std::span<std::byte> rows, std::size_t workers, Combine how) {
  combine_rows(reinterpret_cast<T*>(rows.data()), workers, mine.size() / sizeof(T), how);
  std::memcpy(mine.data(), rows.data(), mine.size());
}

void combine_bf16(std::span<std::byte> mine, std::span<std::byte> rows, std::size_t workers, Combine how) {
  const std::size_t n = mine.size() / sizeof(std::uint16_t);
  const auto* in = reinterpret_cast<const std::uint16_t*>(rows.data());
  std::vector<float> wide(n * workers);
  std::transform(in, in + wide.size(), wide.begin(), widen);
  combine_rows(wide.data(), workers, n, how);
  std::transform(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(n),
                 reinterpret_cast<std::uint16_t*>(mine.data()), round_to_bf16);
}

}  // namespace

void AxisCollectives::combine(core::DType dtype, std::span<const std::byte> all,
                              std::span<const std::size_t> bounds, Combine how, std::span<std::byte> mine) {
  const auto n = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
  const std::size_t piece = bounds[me + 1] - bounds[me];
  received_.resize(std::max<std::size_t>(1, n * piece));
  std::vector<Message> messages;
  for (std::size_t w = 0; w < n; ++w) {
    const std::span<std::byte> place(received_.data() + w * piece, piece);
    const auto part = all.subspan(bounds[w], bounds[w + 1] - bounds[w]);
    if (w == me)
      std::copy(part.begin(), part.end(), place.begin());
    else
      messages.push_back({static_cast<int>(w), part, place});
  }
  workers_->exchange_all(messages, "sum over workers");
  const std::span<std::byte> rows(received_.data(), n * piece);
  switch (dtype) {
    case core::DType::f32:
      return combine_into<float>(mine, rows, n, how);
    case core::DType::f64:
      return combine_into<double>(mine, rows, n, how);
    case core::DType::i64:
      return combine_into<std::int64_t>(mine, rows, n, how);
    case core::DType::i32:
      return combine_into<std::int32_t>(mine, rows, n, how);
    case core::DType::bf16:
      return combine_bf16(mine, rows, n, how);
    default:
      fail(ErrorKind::Unsupported, "sum over workers: elements of type {}\nhint: cast to f32 first",
           core::name(dtype));
  }
}

void AxisCollectives::all_reduce(core::DType dtype, std::span<std::byte> values, Combine how) {
  const auto n = static_cast<std::size_t>(size());
  const std::size_t width = core::bytes(dtype), elements = values.size() / width;
  std::vector<std::size_t> bounds;
  for (std::size_t w = 0; w <= n; ++w) bounds.push_back(elements * w / n * width);
  const auto me = static_cast<std::size_t>(rank());
  combine(dtype, values, bounds, how, values.subspan(bounds[me], bounds[me + 1] - bounds[me]));
  workers_->all_gather(values, bounds);
}

void AxisCollectives::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  workers_->all_gather(mine, all);
}

void AxisCollectives::reduce_scatter(core::DType dtype, std::span<const std::byte> all,
                                     std::span<std::byte> mine) {
  std::vector<std::size_t> bounds;
  for (std::size_t w = 0; w <= static_cast<std::size_t>(size()); ++w) bounds.push_back(mine.size() * w);
  combine(dtype, all, bounds, Combine::sum, mine);
}

}  // namespace bora::mesh
