// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/create.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange_ops.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/full_ops.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/autograd/dropout.h"
#include "bora/core/autograd/pass_notes.h"
#include "bora/core/kernels/cpu/random.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/torch/device.h"

namespace bora::core {
namespace {

at::Tensor empty(at::IntArrayRef sizes, DType dtype, c10::Device device) {
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), scalar_type(dtype), {}, device,
                                             {}, {});
}

// Beyond that many bytes memory is not pinned: libtorch keeps what once was.
constexpr std::size_t kMostPinned = std::size_t{1} << 24;

// Room for what the host writes and brought() takes where new arrays are made: without a wait, out of pinned memory,
// which libtorch gives to nobody else before the copy is done.
at::Tensor room_on_host(at::IntArrayRef sizes, DType dtype) {
  const std::size_t size = static_cast<std::size_t>(c10::multiply_integers(sizes)) * bytes(dtype);
  const bool pinned = !new_array_device().is_cpu() && size > 0 && size <= kMostPinned;
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), scalar_type(dtype), {},
                                             c10::Device(at::kCPU), pinned, {});
}
// Out of memory that is not pinned a driver copies several times as slowly: the next piece is written while the device takes
// this one.
at::Tensor brought_in_pieces(const at::Tensor& t, c10::Device device) {
  const auto n = t.numel(), size = static_cast<std::int64_t>(t.element_size());
  const auto each = static_cast<std::int64_t>(kMostPinned) / size;
  const auto dtype = from_scalar_type(t.scalar_type());
  at::Tensor out = empty(t.sizes(), dtype, device), flat = out.view({n});
  const auto* from = static_cast<const std::byte*>(t.const_data_ptr());
  for (std::int64_t first = 0; first < n; first += each) {
    const std::int64_t count = std::min(each, n - first);
    const at::Tensor piece = room_on_host({count}, dtype);
    auto* to = static_cast<std::byte*>(piece.mutable_data_ptr());
    kernels::for_chunks(count * size, 1 << 18, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to + begin, from + first * size + begin, static_cast<std::size_t>(end - begin));
    });
    flat.narrow(0, first, count).copy_(piece, /*non_blocking=*/true);
  }
  return out;
}
at::Tensor brought(const at::Tensor& t) {
  const auto device = new_array_device();
  if (device.is_cpu()) return t;
  if (t.nbytes() > kMostPinned && t.is_contiguous()) return brought_in_pieces(t, device);
  return t.to(device, t.scalar_type(), /*non_blocking=*/t.nbytes() <= kMostPinned);
}

at::IntArrayRef sizes_of(const Shape& shape) { return {shape.sizes.data(), shape.sizes.size()}; }

Array labelled(std::string_view op, at::Tensor t, const Shape& shape) {
  return Space(op, std::span<const Operand>{}).label(std::move(t), shape.names);
}

bool is_whole(double value) { return value == std::floor(value) && std::isfinite(value); }

void check_value(std::string_view op, double value, DType dtype) {
  if (is_floating(dtype) || is_whole(value)) return;
  fail(ErrorKind::InvalidArgument,
       "{}: {} is not a whole number, but {} was asked for\nhint: pass DType::f32", op, value, name(dtype));
}

at::Tensor filled(const Shape& shape, const at::Scalar& value, DType dtype) {
  return at::_ops::full::call(c10::fromIntArrayRefSlow(sizes_of(shape)), value, scalar_type(dtype), {},
                              new_array_device(), {});
}

std::int64_t count(const Shape& shape) {
  return std::accumulate(shape.sizes.begin(), shape.sizes.end(), std::int64_t{1}, std::multiplies<>());
}

template <class T>
Array copied(const Shape& shape, std::span<const T> elements) {
  return from_bytes(shape, dtype_of<T>, std::as_bytes(elements));
}

// An fp32 array that `draw(n, out)` fills.
template <class Draw>
Array drawn(std::string_view op, const Shape& shape, Draw draw) try {
  check_shape(op, shape);
  const at::Tensor t = room_on_host(sizes_of(shape), DType::f32);
  draw(t.numel(), t.mutable_data_ptr<float>());
  return labelled(op, brought(t), shape);
} catch (...) {
  rethrow(op, shape);
}

std::int64_t rounded_up(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

// Null where a number comes again behind another one of its row. Lengths and numbers of documents are rounded up, so that
// few of them are different: behind the last document come empty ones (a graph of a pass has both fixed).
std::shared_ptr<const Documents> documents_of(std::size_t positions, std::span<const std::int32_t> segments) {
  std::vector<std::int32_t> starts;
  std::set<std::int32_t> seen;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (i % positions == 0)
      seen.clear();
    else if (segments[i] == segments[i - 1])
      continue;
    if (!seen.insert(segments[i]).second) return nullptr;
    starts.push_back(static_cast<std::int32_t>(i));
  }
  auto out = std::make_shared<Documents>();
  if (starts.size() == segments.size() / positions) return out;
  starts.push_back(static_cast<std::int32_t>(segments.size()));
  for (std::size_t i = 1; i < starts.size(); ++i)
    out->longest = std::max<std::int64_t>(out->longest, starts[i] - starts[i - 1]);
  out->longest = std::min(rounded_up(out->longest), static_cast<std::int64_t>(positions));
  starts.resize(static_cast<std::size_t>(rounded_up(std::ssize(starts) - 1)) + 1, starts.back());
  const at::Tensor here = room_on_host({std::ssize(starts)}, DType::i32);
  std::copy(starts.begin(), starts.end(), here.mutable_data_ptr<std::int32_t>());
  out->starts = brought(here);
  return out;
}

}  // namespace

Array zeros(const Shape& shape, DType dtype) try {
  check_shape("zeros", shape);
  return labelled("zeros", filled(shape, 0, dtype), shape);
} catch (...) {
  rethrow("zeros", shape);
}

Array ones(const Shape& shape, DType dtype) try {
  check_shape("ones", shape);
  return labelled("ones", filled(shape, 1, dtype), shape);
} catch (...) {
  rethrow("ones", shape);
}

Array full(const Shape& shape, double value, DType dtype) try {
  check_shape("full", shape);
  check_value("full", value, dtype);
  return labelled("full", filled(shape, value, dtype), shape);
} catch (...) {
  rethrow("full", shape);
}

Array arange(const Shape& shape, double start, double step, DType dtype) try {
  check_shape("arange", shape);
  if (shape.names.size() != 1) {
    fail(ErrorKind::InvalidArgument, "arange: runs along one axis, {} has {}\nhint: broadcast the result",
         describe(shape), shape.names.size());
  }
  check_value("arange", start, dtype);
  check_value("arange", step, dtype);
  // computed in f64, which is exact for whole numbers below 2^53
  const at::Tensor index = at::_ops::arange::call(shape.sizes[0], at::kDouble, {}, new_array_device(), {});
  return labelled("arange", index.mul_(step).add_(start).to(scalar_type(dtype)), shape);
} catch (...) {
  rethrow("arange", shape);
}

Array uninitialized(const Shape& shape, DType dtype) try {
  check_shape("uninitialized", shape);
  return labelled("uninitialized", empty(sizes_of(shape), dtype, new_array_device()), shape);
} catch (...) {
  rethrow("uninitialized", shape);
}

Array from_data(const Shape& shape, std::span<const float> elements) { return copied(shape, elements); }
Array from_data(const Shape& shape, std::span<const double> elements) { return copied(shape, elements); }
Array from_data(const Shape& shape, std::span<const std::int32_t> elements) {
  return copied(shape, elements);
}
Array from_data(const Shape& shape, std::span<const std::int64_t> elements) {
  return copied(shape, elements);
}

Array from_segments(const Shape& shape, std::span<const std::int32_t> elements) {
  Array segments = from_data(shape, elements);
  if (!new_array_device().is_cpu() && !elements.empty())
    segments.node()->documents = documents_of(static_cast<std::size_t>(shape.sizes.back()), elements);
  return segments;
}

Array from_bytes(const Shape& shape, DType dtype, std::span<const std::byte> elements) try {
  check_shape("from_data", shape);
  const std::size_t wanted = static_cast<std::size_t>(count(shape)) * bytes(dtype);
  if (elements.size() != wanted) {
    fail(ErrorKind::InvalidArgument, "from_data: {} of {} takes {} elements ({} bytes), {} bytes were given",
         describe(shape), name(dtype), count(shape), wanted, elements.size());
  }
  const auto make = [&] {
    const at::Tensor t = room_on_host(sizes_of(shape), dtype);
    if (wanted > 0) std::memcpy(t.mutable_data_ptr(), elements.data(), wanted);
    return brought(t);
  };
  const bool on_host = new_array_device().is_cpu();
  return labelled("from_data", on_host ? make() : constant_of_pass(sizes_of(shape), elements, make), shape);
} catch (...) {
  rethrow("from_data", shape);
}

Array random_uniform(Key key, const Shape& shape, double low, double high) {
  if (!(low <= high))
    fail(ErrorKind::InvalidArgument, "random_uniform: low = {} is above high = {}", low, high);
  return drawn("random_uniform", shape, [&](std::int64_t n, float* out) {
    kernels::uniform(key, 0, n, static_cast<float>(low), static_cast<float>(high), out);
  });
}

Array random_normal(Key key, const Shape& shape, double mean, double std) {
  if (!(std >= 0)) fail(ErrorKind::InvalidArgument, "random_normal: std = {} is negative", std);
  return drawn("random_normal", shape, [&](std::int64_t n, float* out) {
    kernels::normal(key, 0, n, static_cast<float>(mean), static_cast<float>(std), out);
  });
}

Array random_truncated_normal(Key key, const Shape& shape, double low, double high, double scale) {
  if (!(low < high)) {
    fail(ErrorKind::InvalidArgument, "random_truncated_normal: low = {} is not below high = {}", low, high);
  }
  return drawn("random_truncated_normal", shape, [&](std::int64_t n, float* out) {
    kernels::truncated_normal(key, 0, n, static_cast<float>(low), static_cast<float>(high),
                              static_cast<float>(scale), out);
  });
}

Array dropout(const Operand& x, double p, Key key) try {
  const Space space("dropout", {x});
  if (!(p >= 0 && p < 1)) fail(ErrorKind::InvalidArgument, "dropout: p = {} is not in [0, 1)", p);
  require_floating("dropout", x);
  if (p == 0) return x.array;
  BlockOf block;
  for (const std::string_view axis : x.names) {
    block.sizes.push_back(space.size(axis));
    block.first.push_back(space.first(axis));
  }
  return space.label(dropout(space.local(x), p, key, block), x.names);
} catch (...) {
  rethrow("dropout", {x});
}

}  // namespace bora::core
