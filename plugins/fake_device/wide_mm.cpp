// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// libtorch's products of bf16 in fp32, which it has for GPUs alone. Factors are widened, which is exact.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <torch/library.h>

#include "kernels.h"
#include "noted_op.h"

namespace bora::fake_device {
namespace {

using at::ScalarType;
using at::Tensor;

void begin_product(const char* name, ScalarType own, ScalarType type) {
  TORCH_CHECK(type == own || (type == at::kFloat && (own == at::kHalf || own == at::kBFloat16)), name,
              ": out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs");
  computed(name);
}

Tensor product(const char* name, const Tensor& a, const Tensor& b, ScalarType type) {
  begin_product(name, a.scalar_type(), type);
  const Tensor c = at::matmul(host_view(a).to(type), host_view(b).to(type));
  Tensor out = at::empty(c.sizes(), a.options().dtype(type));
  host_view(out).copy_(c);
  return out;
}
Tensor mm_dtype(const Tensor& a, const Tensor& b, ScalarType type) { return product("aten::mm", a, b, type); }
Tensor bmm_dtype(const Tensor& a, const Tensor& b, ScalarType type) {
  return product("aten::bmm", a, b, type);
}

Tensor& addmm_dtype_out(const Tensor& self, const Tensor& a, const Tensor& b, ScalarType type,
                        const at::Scalar& beta, const at::Scalar& alpha, Tensor& out) {
  begin_product("aten::addmm", a.scalar_type(), type);
  TORCH_CHECK(self.scalar_type() == type && out.is_same(self),
              "addmm.dtype_out: another array, or type, than that of its first argument");
  const auto add = [to = lent(out), a = lent(a), b = lent(b), type, beta, alpha] {
    host_view(to).addmm_(host_view(a).to(type), host_view(b).to(type), beta, alpha);
  };
  add();
  note(add);
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("mm.dtype", TORCH_FN(NotedOp<mm_dtype>::call));
  library.impl("bmm.dtype", TORCH_FN(NotedOp<bmm_dtype>::call));
  library.impl("addmm.dtype_out", TORCH_FN(addmm_dtype_out));
}

}  // namespace
}  // namespace bora::fake_device
