// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/array.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/core/device.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/shard.h"
#include "bora/core/torch/stored.h"

namespace bora::core {
namespace {

// By DType's order.
constexpr at::ScalarType kScalarTypes[] = {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf,
                                           at::kLong,  at::kInt,    at::kByte,     at::kBool};

void require_filled(std::string_view who, const Array& a) {
  if (a.empty()) fail(ErrorKind::InvalidArgument, "{}: the array is empty (it was never given a value)", who);
}
const at::Tensor& filled(std::string_view who, const Array& a) {
  require_filled(who, a);
  return tensor(a);
}
// One of its sizes and type.
const at::Tensor& filled_alike(std::string_view who, const Array& a) {
  require_filled(who, a);
  return alike(a);
}

// The same where the values must be final and all of them here.
const at::Tensor& summed(std::string_view who, const Array& a) {
  const at::Tensor& t = filled(who, a);
  refuse_stored(who, {a, {}});
  require_final(who, a);
  return t;
}

std::string describe_sizes(Names names, std::span<const std::int64_t> sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < std::max(names.size(), sizes.size()); ++i) {
    if (i > 0) text += ", ";
    text += i < names.size() ? names[i] : "?";
    if (i < sizes.size()) text += fmt::format("={}", sizes[i]);
  }
  return text + "]";
}

}  // namespace

void detail::destroy(Counted* node) noexcept { delete static_cast<Node*>(node); }

Array::Array(Node* adopted) noexcept : node_(adopted) {}

void Array::retain() const noexcept {
  if (node_) node_->references.fetch_add(1, std::memory_order_relaxed);
}

void Array::release() noexcept {
  if (node_ && node_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) detail::destroy(node_);
}

int Array::rank() const { return static_cast<int>(filled_alike("rank", *this).dim()); }

std::int64_t Array::size(int dim) const {
  const at::Tensor& t = filled_alike("size", *this);
  if (dim < 0 || dim >= t.dim()) {
    fail(ErrorKind::InvalidArgument, "size: no dimension {} in an array of {}", dim, t.dim());
  }
  return t.size(dim);
}

std::vector<std::int64_t> Array::sizes() const { return filled_alike("sizes", *this).sizes().vec(); }
std::int64_t Array::numel() const { return filled_alike("numel", *this).numel(); }
DType Array::dtype() const { return from_scalar_type(filled_alike("dtype", *this).scalar_type()); }

double Array::item() const try {
  const at::Tensor& t = summed("item", *this);
  if (t.numel() != 1) {
    fail(ErrorKind::InvalidArgument,
         "item: the array has {} elements, not one\nhint: reduce it first, or to_vector()", t.numel());
  }
  return t.item().to<double>();
} catch (...) {
  rethrow("item", {Operand{*this, {}}});
}

template <class T>
std::vector<T> Array::to_vector() const try {
  summed("to_vector", *this);
  return local_vector<T>(*this);
} catch (...) {
  rethrow("to_vector", {Operand{*this, {}}});
}
template std::vector<float> Array::to_vector<float>() const;
template std::vector<double> Array::to_vector<double>() const;
template std::vector<std::int32_t> Array::to_vector<std::int32_t>() const;
template std::vector<std::int64_t> Array::to_vector<std::int64_t>() const;
template std::vector<std::uint8_t> Array::to_vector<std::uint8_t>() const;

template <class T>
T* Array::data() const {
  summed("data", *this);
  return local_data<T>(*this);
}
template float* Array::data<float>() const;
template double* Array::data<double>() const;
template std::int64_t* Array::data<std::int64_t>() const;
template std::int32_t* Array::data<std::int32_t>() const;
template std::uint8_t* Array::data<std::uint8_t>() const;
template std::uint16_t* Array::data<std::uint16_t>() const;
template bool* Array::data<bool>() const;
template std::byte* Array::data<std::byte>() const;

Array Array::clone() const try {
  refuse_stored("clone", {*this, {}});
  return wrap(filled("clone", *this).clone(at::MemoryFormat::Contiguous));
} catch (...) {
  rethrow("clone", {Operand{*this, {}}});
}

at::ScalarType scalar_type(DType dtype) { return kScalarTypes[static_cast<std::size_t>(dtype)]; }

DType from_scalar_type(at::ScalarType type) {
  const auto found = std::find(std::begin(kScalarTypes), std::end(kScalarTypes), type);
  if (found == std::end(kScalarTypes)) {
    fail(ErrorKind::Unsupported, "array: element type {} is not one of Bora's", c10::toString(type));
  }
  return static_cast<DType>(found - std::begin(kScalarTypes));
}

std::string describe(const Operand& x) {
  if (x.array.empty()) return describe(x.names);
  return describe_sizes(x.names, whole_sizes(x.array));
}
std::string describe(const Shape& shape) { return describe_sizes(shape.names, shape.sizes); }
std::string describe(Names names) { return describe_sizes(names, {}); }

}  // namespace bora::core
