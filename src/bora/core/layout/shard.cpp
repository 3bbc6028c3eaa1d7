// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/shard.h"

#include <ATen/core/Tensor.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>

#include "bora/base/error.h"
#include "bora/core/device.h"
#include "bora/core/mapping.h"
#include "bora/core/torch/stored.h"

namespace bora::core {
namespace {

// Whether elements of `dtype` may be seen as T: the same type, its bits (uint16 for the 16-bit floats), or
// bytes.
template <class T>
bool can_point(DType dtype) {
  if constexpr (std::is_same_v<T, std::byte>) return true;
  if constexpr (std::is_same_v<T, std::uint16_t>) return dtype == DType::bf16 || dtype == DType::f16;
  if constexpr (std::is_same_v<T, std::uint8_t>) return dtype == DType::u8 || dtype == DType::boolean;
  return dtype_of<T> == dtype;
}

template <class T>
std::string_view pointed_name() {
  if constexpr (std::is_same_v<T, std::uint16_t>) return "bf16 or f16";
  return name(dtype_of<T>);
}

}  // namespace

void require_whole(std::string_view who, const Operand& x) {
  if (x.array.empty()) return;
  const auto cuts = cuts_of(x.array);
  const auto cut = std::find_if(cuts.begin(), cuts.end(), [](int dim) { return dim >= 0; });
  if (cut == cuts.end()) return;
  const auto dim = static_cast<std::size_t>(*cut);
  const std::string axis =
      dim < x.names.size() ? "axis " + std::string(x.names[dim]) : "dimension " + std::to_string(dim);
  fail(ErrorKind::InvalidArgument,
       "{}: {} of {} is cut, this rank holds {} of its {} elements\nhint: core::whole() gathers it on all "
       "ranks, "
       "core::local_vector() reads this rank's shard",
       who, axis, describe(x), tensor(x.array).size(*cut), whole_size(x.array, *cut));
}

void require_final(std::string_view who, const Array& x) {
  const auto& place = x.node()->layout.place;
  if (std::find(place.begin(), place.end(), Layout::kPartial) != place.end()) {
    fail(ErrorKind::InvalidArgument,
         "{}: the array is this worker's part of a sum over workers\nhint: core::whole() adds them up", who);
  }
  require_whole(who, {x, {}});
}

template <class T>
std::vector<T> local_vector(const Array& x) {
  if (x.empty())
    fail(ErrorKind::InvalidArgument, "local_vector: the array is empty (it was never given a value)");
  refuse_stored("local_vector", {x, {}});
  const at::Tensor t = tensor(x).detach().to(at::kCPU, c10::CppTypeToScalarType<T>::value).contiguous();
  const T* first = t.const_data_ptr<T>();
  return std::vector<T>(first, first + t.numel());
}
template std::vector<float> local_vector<float>(const Array&);
template std::vector<double> local_vector<double>(const Array&);
template std::vector<std::int32_t> local_vector<std::int32_t>(const Array&);
template std::vector<std::int64_t> local_vector<std::int64_t>(const Array&);
template std::vector<std::uint8_t> local_vector<std::uint8_t>(const Array&);

template <class T>
T* local_data(const Array& x) {
  if (x.empty()) fail(ErrorKind::InvalidArgument, "data: the array is empty (it was never given a value)");
  refuse_stored("data", {x, {}});
  const at::Tensor& t = tensor(x);
  if (!can_point<T>(x.dtype())) {
    fail(ErrorKind::InvalidArgument,
         "data: a pointer to {} was asked for, the array holds {}\nhint: cast it first", pointed_name<T>(),
         name(x.dtype()));
  }
  if (!t.is_contiguous()) {
    fail(ErrorKind::InvalidArgument,
         "data: the array of sizes [{}] is not contiguous\nhint: clone() it first",
         fmt::join(t.sizes(), ", "));
  }
  if (!t.is_cpu()) {
    fail(ErrorKind::InvalidArgument, "data: the array is on {}, not in host memory\nhint: use to_vector()",
         name(device_of(x)));
  }
  return static_cast<T*>(t.mutable_data_ptr());
}
template float* local_data<float>(const Array&);
template double* local_data<double>(const Array&);
template std::int64_t* local_data<std::int64_t>(const Array&);
template std::int32_t* local_data<std::int32_t>(const Array&);
template std::uint8_t* local_data<std::uint8_t>(const Array&);
template std::uint16_t* local_data<std::uint16_t>(const Array&);
template bool* local_data<bool>(const Array&);
template std::byte* local_data<std::byte>(const Array&);

}  // namespace bora::core
