// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/grouped.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "bora/core/autograd/floats.h"
#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/kernels/cpu/matmul.h"
#include "bora/core/kernels/cpu/rows_apart.h"
#include "bora/core/plain/grouped.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using kernels::MatrixRef;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Rows : torch::CustomClassHolder {
  explicit Rows(GroupedRows r) : rows(std::move(r)) {}
  GroupedRows rows;
};

// Matrices of equal width, one below the other: fp32 or bf16.
struct Stack {
  Stack(const Tensor& x, std::int64_t columns) : values(kernel_operand(x)), width(columns) {}
  Tensor values;
  std::int64_t width;
};

bool begins_on_a_line(const Tensor& x) {
  constexpr std::uintptr_t kLine = 64;
  return reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % kLine == 0;
}

// So many rows of a stack as a matrix that begins on a cache line, as one does that stands alone: the bits of
// products may follow that. What is widened first does anyway.
class Part {
 public:
  Part(const Stack& stack, std::int64_t first, std::int64_t rows)
      : values_(stack.values.view({-1, stack.width}).narrow(0, first, rows)) {
    if (values_.scalar_type() == at::kBFloat16) {
      ref_ = kernels::matrix_of_halves(values_.const_data_ptr(), stack.width);
      return;
    }
    if (!begins_on_a_line(values_)) values_ = values_.clone();
    ref_ = {values_.const_data_ptr<float>(), stack.width};
  }
  MatrixRef ref(bool transposed = false) const {
    MatrixRef out = ref_;
    out.transposed = transposed;
    return out;
  }

 private:
  Tensor values_;
  MatrixRef ref_;
};

// The same to write to; finish() puts it in its place.
class Result {
 public:
  Result(const Tensor& all, std::int64_t width, std::int64_t first, std::int64_t rows)
      : place_(all.view({-1, width}).narrow(0, first, rows)), values_(place_) {
    if (!begins_on_a_line(place_)) values_ = new_floats({rows, width});
  }
  float* data() { return values_.mutable_data_ptr<float>(); }
  void finish() {
    if (!values_.is_same(place_)) place_.copy_(values_);
  }

 private:
  Tensor place_, values_;
};

// More than second caches hold.
constexpr std::size_t kCaches = std::size_t{32} << 20;

// This thread's products are each of one group of rows already.
class Together {
 public:
  Together() : before_(kernels::set_rows_apart(0)) {
    if (before_ > 0) kernels::set_rows_apart(1);
  }
  ~Together() { kernels::set_rows_apart(before_); }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

 private:
  std::int64_t before_;
};

// out [slots, n] = x · w of the expert, w [k, n] or (transposed) [n, k].
Tensor times_weights(const Tensor& x, const Tensor& weight, const GroupedRows& rows, bool transposed) {
  const Together together;
  const std::int64_t height = weight.size(1), k = x.size(1), n = weight.size(transposed ? 1 : 2);
  const Stack left(x, k), right(weight, weight.size(2));
  const Tensor out = new_floats({x.size(0), n});
  std::int64_t first = 0;
  for (std::size_t e = 0; e < rows.size(); ++e) {
    if (std::all_of(rows[e].begin(), rows[e].end(), [](auto m) { return m == 0; })) continue;
    const Part w(right, static_cast<std::int64_t>(e) * height, height);
    for (const std::int64_t m : rows[e]) {
      if (m == 0) continue;
      Result result(out, n, first, m);
      kernels::matmul(m, n, k, Part(left, first, m).ref(), w.ref(transposed), result.data(), n);
      result.finish();
      first += m;
    }
  }
  return cast(out, x.scalar_type());
}

// [experts, out, in]: of each expert gᵀ · x.
Tensor weight_gradient(const Tensor& x, const Tensor& g, const GroupedRows& rows, const Tensor& weight) {
  const Together together;
  const std::int64_t in = x.size(1), out = g.size(1);
  const Stack left(g, out), right(x, in);
  const Tensor dw = new_floats({weight.size(0), out, in});
  const bool past_caches = dw.nbytes() > kCaches;  // one expert after the other, read when all are there
  std::int64_t first = 0;
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const std::int64_t m = std::accumulate(rows[e].begin(), rows[e].end(), std::int64_t{0});
    const auto expert = static_cast<std::int64_t>(e);
    if (m == 0) {
      dw.select(0, expert).zero_();
      continue;
    }
    Result result(dw, in, expert * out, out);
    kernels::matmul(out, in, m, Part(left, first, m).ref(true), Part(right, first, m).ref(), result.data(),
                    in, {.past_caches = past_caches});
    result.finish();
    first += m;
  }
  return cast(dw, weight.scalar_type());
}

// `weight` is what is differentiated, `values` what is computed with.
struct Grouped : torch::autograd::Function<Grouped> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& weight, const Tensor& values,
                        const c10::intrusive_ptr<Rows>& rows) {
    ctx->save_for_backward({x, weight, values});
    ctx->saved_data["rows"] = c10::IValue::make_capsule(rows);
    return times_weights(x, values, rows->rows, true);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], &values = saved[2], g = grads[0].contiguous();
    const auto rows = c10::static_intrusive_pointer_cast<Rows>(ctx->saved_data["rows"].toCapsule());
    Tensor dx, dw;
    if (ctx->needs_input_grad(1)) dw = weight_gradient(x, g, rows->rows, weight);
    if (ctx->needs_input_grad(0)) dx = times_weights(g, values, rows->rows, false);
    return {dx, dw, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor grouped(const Tensor& x, const Factor& weight, const GroupedRows& rows) {
  if (!has_kernel(x)) return plain::grouped(x, weight.values, rows);
  return Grouped::apply(x, differentiated(weight), weight.values.detach(), c10::make_intrusive<Rows>(rows));
}

}  // namespace bora::core::autograd
