// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "table.h"

#include "kernels/activation.h"
#include "kernels/adamw.h"
#include "kernels/adamw_bf16.h"
#include "kernels/bias.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "kernels/fp8.h"
#include "kernels/narrow.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "kernels/slots.h"
#include "kernels/sums.h"

namespace bora::cuda {
namespace {

using core::DType;

// Calls f with one element of the type: core gives no others.
template <class F>
void with(DType type, const F& f) {
  if (type == DType::bf16)
    f(Bf16());
  else
    f(float());
}
template <class T>
const T* in(const void* p, T /*element*/) {
  return static_cast<const T*>(p);
}
template <class T>
T* out(void* p, T /*element*/) {
  return static_cast<T*>(p);
}

}  // namespace

core::DeviceKernels table() {
  core::DeviceKernels k;
  k.adamw = adamw;
  k.adamw_bf16 = adamw_bf16;
  k.add_into = add_into;
  k.narrow = narrow;
  k.max_abs = max_abs;
  k.square_numbers = square_numbers;
  k.rms_norm.forward = [](DType type, std::int64_t rows, std::int64_t n, const void* x, const void* residual,
                          const float* weight, float eps, void* sum, void* y, float* rstd, float* largest,
                          Stream s) {
    with(type, [&](auto t) {
      rms_norm_forward<decltype(t)>({.rows = rows,
                                     .n = n,
                                     .x = in(x, t),
                                     .residual = in(residual, t),
                                     .weight = weight,
                                     .eps = eps,
                                     .sum = out(sum, t),
                                     .y = out(y, t),
                                     .rstd = rstd,
                                     .largest = largest},
                                    s);
    });
  };
  k.rms_norm.backward = [](DType type, std::int64_t rows, std::int64_t n, const void* x, const float* weight,
                           const float* rstd, const void* dy, const void* dsum, void* dx, float* dweight,
                           float* room, float* largest, Stream s) {
    with(type, [&](auto t) {
      rms_norm_backward<decltype(t)>({.rows = rows,
                                      .n = n,
                                      .x = in(x, t),
                                      .weight = weight,
                                      .rstd = rstd,
                                      .dy = in(dy, t),
                                      .dsum = in(dsum, t),
                                      .dx = out(dx, t),
                                      .dweight = dweight,
                                      .room = room,
                                      .largest = largest},
                                     s);
    });
  };
  k.layer_norm.forward = [](DType type, std::int64_t rows, std::int64_t n, const void* x,
                            const void* residual, const float* weight, const float* bias, float eps,
                            void* sum, void* y, float* mean, float* rstd, float* largest, Stream s) {
    with(type, [&](auto t) {
      layer_norm_forward<decltype(t)>({.rows = rows,
                                       .n = n,
                                       .x = in(x, t),
                                       .residual = in(residual, t),
                                       .weight = weight,
                                       .bias = bias,
                                       .eps = eps,
                                       .sum = out(sum, t),
                                       .y = out(y, t),
                                       .mean = mean,
                                       .rstd = rstd,
                                       .largest = largest},
                                      s);
    });
  };
  k.layer_norm.backward = [](DType type, std::int64_t rows, std::int64_t n, const void* x,
                             const float* weight, const float* mean, const float* rstd, const void* dy,
                             const void* dsum, void* dx, float* dweight, float* dbias, float* room,
                             float* largest, Stream s) {
    with(type, [&](auto t) {
      layer_norm_backward<decltype(t)>({.rows = rows,
                                        .n = n,
                                        .x = in(x, t),
                                        .weight = weight,
                                        .mean = mean,
                                        .rstd = rstd,
                                        .dy = in(dy, t),
                                        .dsum = in(dsum, t),
                                        .dx = out(dx, t),
                                        .dweight = dweight,
                                        .dbias = dbias,
                                        .room = room,
                                        .largest = largest},
                                       s);
    });
  };
  k.norm_room = norm_backward_room;
  k.bias_gradient = [](DType type, std::int64_t rows, std::int64_t n, const void* x, std::int64_t stride,
                       float* sums, Stream s) {
    with(type, [&](auto t) { bias_gradient<decltype(t)>({rows, n, in(x, t), stride, sums}, s); });
  };
  k.activate.forward = [](Activation f, DType type, std::int64_t n, const void* x, void* y, float* largest,
                          Stream s) {
    with(type, [&](auto t) { activate(f, n, in(x, t), out(y, t), s, largest); });
  };
  k.activate.backward = [](Activation f, DType type, std::int64_t n, const void* x, const void* dy, void* dx,
                           float* largest, Stream s) {
    with(type, [&](auto t) { activate_backward(f, n, in(x, t), in(dy, t), out(dx, t), s, largest); });
  };
  k.gated.forward = [](Activation f, DType type, std::int64_t rows, std::int64_t n, const void* gate,
                       const void* up, std::int64_t stride, void* y, float* largest, Stream s) {
    with(type, [&](auto t) { gated(f, {rows, n, stride}, in(gate, t), in(up, t), out(y, t), s, largest); });
  };
  k.gated.backward = [](Activation f, DType type, std::int64_t rows, std::int64_t n, const void* gate,
                        const void* up, std::int64_t stride, const void* dy, void* dgate, void* dup,
                        std::int64_t gradient_stride, float* largest, Stream s) {
    with(type, [&](auto t) {
      gated_backward(f, {rows, n, stride, gradient_stride}, in(gate, t), in(up, t), in(dy, t), out(dgate, t),
                     out(dup, t), s, largest);
    });
  };
  k.narrow8.max_abs = [](DType type, std::int64_t n, const void* x, float* largest, Stream s) {
    with(type, [&](auto t) { fp8_max_abs(n, in(x, t), largest, s); });
  };
  k.narrow8.quantize = [](DType type, core::Fp8 format, std::int64_t rows, std::int64_t n, const void* x,
                          const float* largest, std::int64_t parts, void* y, void* turned, float* inverse,
                          Stream s) {
    with(type, [&](auto t) {
      fp8_quantize(format, rows, n, in(x, t), largest, parts, static_cast<std::uint8_t*>(y),
                   static_cast<std::uint8_t*>(turned), inverse, s);
    });
  };
  k.rope = [](std::int64_t count, const kernels::Turned* arrays, DType type, const float* cos,
              const float* sin, bool inverse, Stream s) {
    with(type, [&](auto t) { rope<decltype(t)>(count, arrays, cos, sin, inverse, s); });
  };
  k.dropout = [](Key key, const Key* there, std::int64_t first, std::int64_t n, float p, DType type,
                 const void* x, void* y, Stream s) {
    const KeyWords words{key.key, key.stream, reinterpret_cast<const std::uint64_t*>(there)};
    with(type, [&](auto t) { dropout(words, first, n, p, in(x, t), out(y, t), s); });
  };
  k.embedding.backward = [](DType type, std::int64_t places, std::int64_t width, std::int64_t vocab,
                            const std::int32_t* ids, const std::int32_t* order, const void* dy, float* table,
                            float* room, Stream s) {
    with(type, [&](auto t) {
      embedding_backward<decltype(t)>({places, width, vocab, ids, order, in(dy, t), table, room}, s);
    });
  };
  k.embedding.room = embedding_backward_room;
  k.slots.plan = [](DType type, std::int64_t n, std::int64_t experts, const void* choices,
                    const kernels::SlotPlaces& to, std::int32_t* room, Stream s) {
    if (type == DType::i32)
      plan_slots(n, experts, static_cast<const std::int32_t*>(choices), to, room, s);
    else
      plan_slots(n, experts, static_cast<const std::int64_t*>(choices), to, room, s);
  };
  k.slots.room = slots_room;
  k.cross_entropy = [](DType type, std::int64_t rows, std::int64_t vocab, void* x, std::int64_t stride,
                       const std::int32_t* targets, const float* weights, float z_loss, float* loss,
                       float* lse, bool gradient, const kernels::HeadMap& map, Stream s) {
    with(type, [&](auto t) {
      cross_entropy<decltype(t)>(
          {rows, vocab, out(x, t), stride, targets, weights, z_loss, loss, lse, gradient, map}, s);
    });
  };
  return k;
}

}  // namespace bora::cuda
