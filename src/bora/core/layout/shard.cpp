// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/shard.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <string>

#include "bora/base/error.h"
#include "bora/core/mapping.h"
#include "bora/core/torch/node.h"

namespace bora::core {

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

template <class T>
std::vector<T> local_vector(const Array& x) {
  if (x.empty())
    fail(ErrorKind::InvalidArgument, "local_vector: the array is empty (it was never given a value)");
  const at::Tensor t = tensor(x).detach().to(at::kCPU, c10::CppTypeToScalarType<T>::value).contiguous();
  const T* first = t.const_data_ptr<T>();
  return std::vector<T>(first, first + t.numel());
}
template std::vector<float> local_vector<float>(const Array&);
template std::vector<double> local_vector<double>(const Array&);
template std::vector<std::int32_t> local_vector<std::int32_t>(const Array&);
template std::vector<std::int64_t> local_vector<std::int64_t>(const Array&);
template std::vector<std::uint8_t> local_vector<std::uint8_t>(const Array&);

}  // namespace bora::core
