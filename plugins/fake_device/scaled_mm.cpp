// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// libtorch's product of fp8, as its part for CUDA has it: what it takes, and what it refuses. Factors are widened, which
// is exact, and the sum of their products is fp32.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

#include <optional>

#include "kernels.h"
#include "noted_op.h"

namespace bora::fake_device {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

bool is_fp8(const Tensor& x) {
  return x.scalar_type() == at::kFloat8_e4m3fn || x.scalar_type() == at::kFloat8_e5m2;
}

void require_scale(const Tensor& scale, const Tensor& of) {
  TORCH_CHECK(scale.scalar_type() == at::kFloat && scale.numel() == 1 && scale.device() == of.device(),
              "_scaled_mm: a scale is one number of fp32 on the device");
}

Tensor scaled_mm(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b,
                 const MaybeTensor& bias, const MaybeTensor& scale_result,
                 std::optional<at::ScalarType> out_type, bool /*use_fast_accum*/) {
  computed("aten::_scaled_mm");
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2, "_scaled_mm: mat1 and mat2 must be matrices");
  TORCH_CHECK(a.size(1) == b.size(0), "_scaled_mm: mat1 and mat2 shapes cannot be multiplied");
  TORCH_CHECK(is_fp8(a) && is_fp8(b), "_scaled_mm: expected both to be Float8 types");
  TORCH_CHECK(a.scalar_type() != at::kFloat8_e5m2 || b.scalar_type() != at::kFloat8_e5m2,
              "_scaled_mm: multiplication of two Float8_e5m2 matrices is not supported");
  TORCH_CHECK(a.stride(1) == 1 && a.stride(0) >= a.size(1), "_scaled_mm: mat1 must be row_major");
  TORCH_CHECK(b.stride(0) == 1 && b.stride(1) >= b.size(0), "_scaled_mm: mat2 must be col_major");
  TORCH_CHECK(a.size(1) % 16 == 0, "_scaled_mm: expected trailing dimension of mat1 to be divisible by 16");
  TORCH_CHECK(b.size(0) % 16 == 0 && b.size(1) % 16 == 0,
              "_scaled_mm: expected the sizes of mat2 to be divisible by 16");
  for (const Tensor* x : {&a, &b})
    TORCH_CHECK(reinterpret_cast<std::uintptr_t>(x->const_data_ptr()) % 16 == 0,
                "_scaled_mm: no address of 16 bytes");
  require_scale(scale_a, a);
  require_scale(scale_b, a);
  TORCH_CHECK(!scale_result, "_scaled_mm: a scale of the result is for results in fp8");
  const auto type = out_type.value_or(a.scalar_type());
  TORCH_CHECK(type == at::kFloat || type == at::kBFloat16 || type == at::kHalf,
              "_scaled_mm: this type of result");
  Tensor c = at::mm(host_view(a).to(at::kFloat), host_view(b).to(at::kFloat));
  c.mul_(host_view(scale_a)).mul_(host_view(scale_b));
  if (bias) {
    TORCH_CHECK(type != at::kFloat, "_scaled_mm: bias is not supported when out_dtype is set to Float32");
    TORCH_CHECK(bias->scalar_type() == type && bias->numel() == b.size(1) && bias->is_contiguous(),
                "_scaled_mm: bias must be of the type of the result, an element for each column");
    c.add_(host_view(*bias).to(at::kFloat));
  }
  Tensor out = at::empty({a.size(0), b.size(1)}, a.options().dtype(type));
  host_view(out).copy_(c);
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("_scaled_mm", TORCH_FN(NotedOp<scaled_mm>::call));
}

}  // namespace
}  // namespace bora::fake_device
