// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// libtorch's product of groups, as its part for CUDA has it for bf16: what it takes, and what it refuses or would read
// wrongly. Factors are widened, which is exact, and the sum of their products is fp32, rounded once. What is of no group is
// not written, nor is the product of a group without rows over which to sum.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels.h"
#include "noted_op.h"

namespace bora::fake_device {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

constexpr std::int64_t kGroupPack = 8;

// By rows or by columns, each of which begins at a multiple of 16 bytes.
void require_strides(const Tensor& x) {
  const auto last = x.dim() - 1;
  TORCH_CHECK(reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % 16 == 0,
              "_grouped_mm: expected data_ptr to be aligned to 16 bytes");
  const auto whole = [&](std::int64_t one, std::int64_t other) {
    return x.stride(one) == 1 && x.stride(other) >= std::max<std::int64_t>(1, x.size(one));
  };
  const bool columns = whole(last - 1, last), rows = !columns && whole(last, last - 1);
  TORCH_CHECK(columns || rows, "_grouped_mm: invalid strides or sizes");
  TORCH_CHECK(x.stride(columns ? last : last - 1) % kGroupPack == 0,
              "_grouped_mm: strides should be multiple of 16 bytes");
}

Tensor grouped_mm(const Tensor& a, const Tensor& b, const MaybeTensor& offs, const MaybeTensor& bias,
                  std::optional<at::ScalarType> out_type) {
  computed("aten::_grouped_mm");
  TORCH_CHECK(a.scalar_type() == at::kBFloat16 && b.scalar_type() == at::kBFloat16,
              "_grouped_mm: a loop for other types than bf16, in which the host waits");
  TORCH_CHECK(a.dim() == 2 && (b.dim() == 2 || b.dim() == 3), "_grouped_mm: matrices of these axes");
  TORCH_CHECK(offs && offs->dim() == 1 && offs->scalar_type() == at::kInt && offs->device() == a.device(),
              "_grouped_mm: offsets have to be 1D, int32, on the device");
  TORCH_CHECK(!bias, "_grouped_mm: bias not supported yet");
  TORCH_CHECK(out_type.value_or(at::kBFloat16) == at::kBFloat16, "_grouped_mm: another type of result");
  require_strides(a);
  require_strides(b);
  const bool over_groups = b.dim() == 2;
  const std::int64_t groups = offs->size(0);
  TORCH_CHECK(groups < 1024, "_grouped_mm: can't process more than 1024 groups");
  TORCH_CHECK(over_groups ? a.size(1) == b.size(0) : b.size(0) == groups && a.size(1) == b.size(1),
              "_grouped_mm: sizes have to match");
  std::vector<std::int64_t> sizes{a.size(0), b.size(-1)};
  if (over_groups) sizes.insert(sizes.begin(), groups);
  const std::int64_t row = (sizes.back() + kGroupPack - 1) / kGroupPack * kGroupPack;
  std::vector<std::int64_t> strides{row, 1};
  if (over_groups) strides.insert(strides.begin(), a.size(0) * row);
  Tensor out = at::empty_strided(sizes, strides, a.options());
  const Tensor to = host_view(out), left = host_view(a).to(at::kFloat), right = host_view(b).to(at::kFloat),
               ends = host_view(*offs);
  std::int64_t first = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t end = ends.const_data_ptr<std::int32_t>()[g], n = end - first;
    TORCH_CHECK(n >= 0 && end <= a.size(over_groups ? 1 : 0), "_grouped_mm: offsets beyond the rows");
    // libtorch 2.11 wants it where the left factor lies by rows or the right one by columns
    TORCH_CHECK(
        !over_groups || g == groups - 1 || n % kGroupPack == 0,
        "_grouped_mm: expected input tensor dynamic dimension byte size to be non-negative multiple of 16");
    if (n > 0 && over_groups)
      to.select(0, g).copy_(at::mm(left.narrow(1, first, n), right.narrow(0, first, n)));
    else if (n > 0)
      to.narrow(0, first, n).copy_(at::mm(left.narrow(0, first, n), right.select(0, g)));
    first = end;
  }
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("_grouped_mm", TORCH_FN(NotedOp<grouped_mm>::call));
}

}  // namespace
}  // namespace bora::fake_device
