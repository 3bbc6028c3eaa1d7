// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/collectives.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/trace.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/rows.h"
#include "bora/core/update.h"
#include "bora/mesh/plain_arrays.h"

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

template <class T>
T combined(T a, T b, Combine how) {
  return how == Combine::sum ? a + b : std::max(a, b);
}

// A 16-bit sum is rounded after each addition.
std::uint16_t combined(std::uint16_t a, std::uint16_t b, Combine how) {
  return round_to_bf16(combined(widen(a), widen(b), how));
}

// The elements of `workers` rows, combined in pairs of rows, into `mine`.
template <class T>
void combine_rows(std::span<std::byte> mine, std::span<std::byte> all, std::size_t workers, Combine how) {
  const std::size_t n = mine.size() / sizeof(T);
  T* rows = reinterpret_cast<T*>(all.data());
  for (std::size_t step = 1; step < workers; step *= 2) {
    for (std::size_t left = 0; left + step < workers; left += 2 * step) {
      T* a = rows + left * n;
      const T* b = rows + (left + step) * n;
      for (std::size_t i = 0; i < n; ++i) a[i] = combined(a[i], b[i], how);
    }
  }
  std::memcpy(mine.data(), all.data(), mine.size());
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
      return combine_rows<float>(mine, rows, n, how);
    case core::DType::f64:
      return combine_rows<double>(mine, rows, n, how);
    case core::DType::i64:
      return combine_rows<std::int64_t>(mine, rows, n, how);
    case core::DType::i32:
      return combine_rows<std::int32_t>(mine, rows, n, how);
    case core::DType::bf16:
      return combine_rows<std::uint16_t>(mine, rows, n, how);
    default:
      fail(ErrorKind::Unsupported, "sum over workers: elements of type {}\nhint: cast to f32 first",
           core::name(dtype));
  }
}

core::Array AxisCollectives::combine_there(const core::Array& all, std::span<const std::int64_t> bounds,
                                           Combine how) {
  const auto n = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
  const std::int64_t piece = bounds[me + 1] - bounds[me];
  const core::DeviceScope there(core::device_of(all));
  const std::vector<std::int64_t> sizes{size(), piece};
  const auto rows = core::uninitialized(unnamed(sizes), all.dtype());
  Cargo out(*workers_, all, Cargo::Use::read), in(*workers_, rows, Cargo::Use::write);
  std::vector<Message> messages;
  for (std::size_t w = 0; w < n; ++w) {
    if (w == me) continue;
    const auto peer = static_cast<int>(w);
    messages.push_back(out.to(peer, bounds[w], bounds[w + 1] - bounds[w]));
    messages.push_back(in.from(peer, peer * piece, piece));
  }
  const std::vector<std::int64_t> flat{piece};
  core::Array own = core::elements(rows, rank() * piece, flat);
  core::copy_into(own, core::elements(all, bounds[me], flat));
  workers_->exchange_all(messages, "sum over workers");
  return core::combine_rows(rows, how);
}

void AxisCollectives::all_reduce(core::Array& values, Combine how) {
  if (!workers_->carries(core::device_of(values))) {
    Cargo here(*workers_, values, Cargo::Use::update);
    return all_reduce(values.dtype(), here.bytes(), how);
  }
  const auto elements = values.numel();
  const trace::Span span("all-reduce", "elements", elements);
  const auto width = core::bytes(values.dtype());
  std::vector<std::int64_t> bounds;
  std::vector<std::size_t> byte_bounds;
  for (int w = 0; w <= size(); ++w) {
    bounds.push_back(elements * w / size());
    byte_bounds.push_back(static_cast<std::size_t>(bounds.back()) * width);
  }
  const auto mine = combine_there(values, bounds, how);
  core::Array place = core::elements(values, bounds[static_cast<std::size_t>(rank())], mine.sizes());
  core::copy_into(place, mine);
  Cargo all(*workers_, values, Cargo::Use::update);
  workers_->all_gather(all.bytes(), byte_bounds, all.memory());
}

void AxisCollectives::all_gather(const core::Array& mine, core::Array& all) {
  const trace::Span span("all-gather", "elements", all.numel());
  const Cargo out(*workers_, mine, Cargo::Use::read);
  Cargo in(*workers_, all, Cargo::Use::write);
  std::vector<Message> messages;
  for (int k = 1; k < size(); ++k) {
    const int to = (rank() + k) % size(), from = (rank() + size() - k) % size();
    messages.push_back(out.to(to));
    messages.push_back(in.from(from, from * mine.numel(), mine.numel()));
  }
  workers_->exchange_all(messages, "all_gather");
  in.finish();
  core::Array own = core::elements(all, rank() * mine.numel(), mine.sizes());
  core::copy_into(own, mine);
}

void AxisCollectives::reduce_scatter(const core::Array& all, core::Array& mine) {
  const trace::Span span("reduce-scatter", "elements", all.numel());
  if (!workers_->carries(core::device_of(all))) {
    std::vector<std::size_t> bounds;
    const Cargo from(*workers_, all, Cargo::Use::read), to(*workers_, mine, Cargo::Use::write);
    for (std::size_t w = 0; w <= static_cast<std::size_t>(size()); ++w)
      bounds.push_back(to.bytes().size() * w);
    return combine(all.dtype(), from.bytes(), bounds, Combine::sum, to.bytes());
  }
  std::vector<std::int64_t> bounds;
  for (int w = 0; w <= size(); ++w) bounds.push_back(mine.numel() * w);
  const auto sum = combine_there(all, bounds, Combine::sum);
  core::Array flat = core::elements(mine, 0, sum.sizes());
  core::copy_into(flat, sum);
}

void AxisCollectives::all_reduce(core::DType dtype, std::span<std::byte> values, Combine how) {
  const trace::Span span("all-reduce", "bytes", static_cast<std::int64_t>(values.size()));
  const auto n = static_cast<std::size_t>(size());
  const std::size_t width = core::bytes(dtype), elements = values.size() / width;
  std::vector<std::size_t> bounds;
  for (std::size_t w = 0; w <= n; ++w) bounds.push_back(elements * w / n * width);
  const auto me = static_cast<std::size_t>(rank());
  combine(dtype, values, bounds, how, values.subspan(bounds[me], bounds[me + 1] - bounds[me]));
  workers_->all_gather(values, bounds);
}

void AxisCollectives::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const trace::Span span("all-gather", "bytes", static_cast<std::int64_t>(all.size()));
  workers_->all_gather(mine, all);
}

void AxisCollectives::start_passes(std::span<const Pass> passes) {
  const int n = size();
  std::vector<Message> messages;
  const core::Node* before = nullptr;  // what all get is one cargo
  std::size_t at = 0;
  travelling_.reserve(2 * passes.size());
  for (const auto& p : passes) {
    const int places = (p.places % n + n) % n, to = (rank() + places) % n, from = (rank() + n - places) % n;
    if (!p.in.empty())
      messages.push_back(travelling_.emplace_back(*workers_, p.in, Cargo::Use::write).from(from));
    if (p.out.empty()) continue;
    if (p.out.node() != before) {
      before = p.out.node();
      at = travelling_.size();
      travelling_.emplace_back(*workers_, p.out, Cargo::Use::read);
    }
    messages.push_back(travelling_[at].to(to));
  }
  workers_->start_exchange(messages, "pass on");
}

void AxisCollectives::finish_passes() {
  const trace::Span span("wait");
  workers_->finish_exchange();
  travelling_.clear();
}

void AxisCollectives::progress() noexcept {
  constexpr double kBetweenLooks = 50e-6;  // seconds
  const double now = monotonic_seconds();
  if (now - looked_ < kBetweenLooks) return;
  workers_->progress();
  looked_ = now;
}

}  // namespace bora::mesh
