// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/stored_weight.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_ops.h>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "bora/base/error.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/floats.h"
#include "bora/core/device.h"
#include "bora/core/kernels/cpu/stored_matrix.h"
#include "bora/core/parameter_store.h"
#include "bora/core/step_ops.h"
#include "bora/core/torch/stored.h"

namespace bora::core {
namespace {

at::Tensor new_bytes(std::int64_t rows, std::int64_t columns) {
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow({rows, columns}), at::kChar, {}, {}, {},
                                             {});
}

void require_storable(const Array& weight, int outputs, WeightType type) {
  const std::string who = fmt::format("weights as {}", name(type));
  const auto& t = tensor(weight);
  if (stored(weight) != nullptr)
    fail(ErrorKind::InvalidArgument, "{}: they are kept as {} already\nhint: read the model again", who,
         name(stored_type(weight)));
  if (t.scalar_type() != at::kFloat || !t.is_cpu() || outputs < 1 || outputs >= t.dim())
    fail(
        ErrorKind::InvalidArgument,
        "{}: an array of {} dimensions of {} on {}, of which {} are outputs\nhint: fp32 in host memory, with "
        "outputs and inputs",
        who, t.dim(), name(weight.dtype()), name(device_of(weight)), outputs);
  if (const auto element = first_non_finite(weight); element >= 0)
    fail(ErrorKind::NonFinite, "{}: element {} is not finite\nhint: --weights f32, or an earlier checkpoint",
         who, element);
}

StoredWeight narrowed(const Array& weight, int outputs, WeightType type) {
  const auto t = tensor(weight).detach().contiguous();
  std::int64_t rows = 1;
  for (int d = 0; d < outputs; ++d) rows *= t.size(d);
  const auto wide = t.view({rows, rows == 0 ? 0 : t.numel() / rows});
  if (type == WeightType::bf16) return {type, outputs, autograd::cast(wide, at::kBFloat16), {}};
  StoredWeight out{type, outputs, new_bytes(rows, wide.size(1)), autograd::new_floats({rows})};
  kernels::store_int8(rows, wide.size(1), wide.const_data_ptr<float>(),
                      out.values.mutable_data_ptr<std::int8_t>(), out.scales.mutable_data_ptr<float>());
  return out;
}

}  // namespace

void store_weight(Array& weight, int outputs, WeightType type) {
  if (type == WeightType::f32) return;
  require_storable(weight, outputs, type);
  weight.node()->stored = std::make_shared<const StoredWeight>(narrowed(weight, outputs, type));
  drop_values(weight);
  // for what reads it without asking
  tensor(weight).storage().unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(
      fmt::format("a weight that is kept as {}", name(type)));
}

void round_weight(Array& weight, int outputs, WeightType type) {
  if (type == WeightType::f32) return;
  require_storable(weight, outputs, type);
  const auto rounded = narrowed(weight, outputs, type);
  const auto b = rounded.matrix();
  kernels::widen(b, 0, b.outputs, true, weight.data<float>());
}

WeightType stored_type(const Array& weight) {
  const auto* kept = stored(weight);
  return kept == nullptr ? WeightType::f32 : kept->type;
}

std::int64_t stored_bytes(const Array& weight) {
  const auto* kept = stored(weight);
  if (kept == nullptr) return weight.numel() * static_cast<std::int64_t>(bytes(weight.dtype()));
  const auto size = [](const at::Tensor& x) {
    return x.defined() ? x.numel() * static_cast<std::int64_t>(x.element_size()) : 0;
  };
  return size(kept->values) + size(kept->scales);
}

kernels::StoredMatrix StoredWeight::matrix() const {
  kernels::StoredMatrix out{values.size(0), values.size(1)};
  if (type == WeightType::bf16) {
    out.bf16 = static_cast<const std::uint16_t*>(values.const_data_ptr());
  } else {
    out.int8 = values.const_data_ptr<std::int8_t>();
    out.scales = scales.const_data_ptr<float>();
  }
  return out;
}

void refuse_stored(std::string_view op, const Operand& x) {
  if (stored(x.array) == nullptr) return;
  fail(ErrorKind::InvalidArgument,
       "{}: {} is kept as {}, which products and look-ups alone read, without gradients\nhint: --weights f32",
       op, x.names.empty() ? std::string("a weight") : describe(x), name(stored_type(x.array)));
}

at::Tensor stored_product(const at::Tensor& a, const StoredWeight& weight) {
  const auto b = weight.matrix();
  const auto m = a.size(0);
  auto c = autograd::new_floats({m, b.outputs});
  const auto rows = a.contiguous();
  kernels::stored_matmul(m, {rows.const_data_ptr<float>(), b.inputs}, b, c.mutable_data_ptr<float>(),
                         b.outputs);
  return c;
}

at::Tensor stored_rows(const StoredWeight& weight, const at::Tensor& index) {
  const auto b = weight.matrix();
  auto out = autograd::new_floats({index.size(0), b.inputs});
  const auto* row = index.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < index.size(0); ++i)
    kernels::widen(b, row[i], row[i] + 1, true, out.mutable_data_ptr<float>() + i * b.inputs);
  return out;
}

}  // namespace bora::core
