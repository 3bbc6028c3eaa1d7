// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Kernels of the device: the CPU's, at its own addresses.
#include "kernels.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "bora/core/kernels/cpu/activation.h"
#include "bora/core/kernels/cpu/adamw.h"
#include "bora/core/kernels/cpu/attention.h"
#include "bora/core/kernels/cpu/cross_entropy.h"
#include "bora/core/kernels/cpu/fp8.h"
#include "bora/core/kernels/cpu/norm.h"
#include "bora/core/kernels/cpu/random.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "bora/core/kernels/cpu/rope.h"
#include "bora/core/kernels/cpu/square_sum.h"
#include "copies.h"
#include "fake_device.h"
#include "graph.h"

namespace bora::fake_device {
namespace {

template <class T>
T* there(T* p) {
  return static_cast<T*>(shadow(p));
}

using Stream = core::DeviceKernels::Stream;
using core::DType;

// Elements at an address of the device in fp32, as the CPU's kernels take them: bf16 as a copy, which goes back
// at the end if they may be written to.
class Floats {
 public:
  Floats(core::DType type, void* at, std::int64_t n) : Floats(type, const_cast<const void*>(at), n) {
    goes_back_ = bits_ != nullptr;
  }
  Floats(core::DType type, const void* at, std::int64_t n) {
    char* here = static_cast<char*>(shadow(at));
    if (type == core::DType::f32) {
      floats_ = reinterpret_cast<float*>(here);
      return;
    }
    bits_ = reinterpret_cast<std::uint16_t*>(here);
    copy_.resize(static_cast<std::size_t>(n));
    kernels::from_bf16(n, bits_, copy_.data());
    floats_ = copy_.data();
  }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  ~Floats() {
    if (goes_back_) kernels::to_bf16(static_cast<std::int64_t>(copy_.size()), copy_.data(), bits_);
  }
  operator float*() const { return floats_; }
  operator kernels::Values() const { return floats_; }
  operator kernels::Results() const { return floats_; }
  float* operator+(std::int64_t i) const { return floats_ + i; }

 private:
  std::vector<float> copy_;
  std::uint16_t* bits_ = nullptr;
  float* floats_ = nullptr;
  bool goes_back_ = false;
};

// As the entries say it: NaN if one is not finite.
float largest_of(DType type, const void* x, std::int64_t n) {
  const Floats in(type, x, n);
  const float most = kernels::max_abs(n, in);
  return std::isfinite(most) ? most : std::numeric_limits<float>::quiet_NaN();
}
// Of the result of a kernel, when all of it is there.
class GivesLargest {
 public:
  GivesLargest(DType type, const void* result, std::int64_t n, float* largest)
      : type_(type), result_(result), n_(n), largest_(largest) {}
  GivesLargest(const GivesLargest&) = delete;
  GivesLargest& operator=(const GivesLargest&) = delete;
  ~GivesLargest() {
    if (largest_ == nullptr) return;
    const float most = largest_of(type_, result_, n_);
    float& known = *there(largest_);
    if (!(most <= known)) known = std::isnan(known) ? known : most;
  }

 private:
  DType type_;
  const void* result_;
  std::int64_t n_;
  float* largest_;
};

void adamw(const kernels::AdamW& step, std::int64_t count, const kernels::Stepped* arrays,
           Stream /*stream*/) {
  refuse_while_noting("a step of the optimizer");
  launched("adamw");
  for (const auto& a : std::span(arrays, static_cast<std::size_t>(count))) {
    kernels::AdamW own = step;
    own.weight_decay = a.weight_decay;
    kernels::adamw(a.n, own, there(a.parameter), there(a.gradient), there(a.mean), there(a.square));
    if (a.copy == nullptr) continue;
    const GivesLargest gives(DType::bf16, a.copy, a.n, a.largest);
    kernels::to_bf16(a.n, there(a.parameter), there(static_cast<std::uint16_t*>(a.copy)));
  }
}

void adamw_bf16(const kernels::AdamW& step, std::int64_t count, const kernels::SteppedBf16* arrays,
                Stream /*stream*/) {
  launched("adamw_bf16");
  for (const auto& a : std::span(arrays, static_cast<std::size_t>(count))) {
    kernels::AdamW own = step;
    own.weight_decay = a.weight_decay;
    kernels::adamw(a.n, own, there(a.parameter), there(a.gradient),
                   there(static_cast<std::uint16_t*>(a.mean)), there(static_cast<std::uint16_t*>(a.square)),
                   a.rounding);
    if (a.copy == nullptr) continue;
    const GivesLargest gives(DType::bf16, a.copy, a.n, a.largest);
    kernels::to_bf16(a.n, there(a.parameter), there(static_cast<std::uint16_t*>(a.copy)));
  }
}

void add_into(std::int64_t count, const kernels::Added* arrays, Stream /*stream*/) {
  launched("add_into");
  for (const auto& a : std::span(arrays, static_cast<std::size_t>(count)))
    a.stores ? void(std::copy_n(there(a.from), a.n, there(a.into)))
             : kernels::add_into(a.n, there(a.into), there(a.from));
}

void narrow(std::int64_t count, const kernels::Narrowed* arrays, Stream /*stream*/) {
  launched("narrow");
  for (const auto& a : std::span(arrays, static_cast<std::size_t>(count))) {
    const GivesLargest gives(DType::bf16, a.to, a.n, a.largest);
    kernels::to_bf16(a.n, there(a.from), there(static_cast<std::uint16_t*>(a.to)));
  }
}

void max_abs(std::int64_t count, const kernels::Measured* arrays, Stream /*stream*/) {
  launched("max_abs");
  for (const auto& a : std::span(arrays, static_cast<std::size_t>(count))) {
    const float most = a.n == 0 ? 0 : kernels::max_abs(a.n, there(a.x));
    *there(a.largest) = std::isfinite(most) ? most : std::numeric_limits<float>::quiet_NaN();
  }
}

void square_numbers(std::int64_t count, const kernels::Measured* arrays, Stream /*stream*/) {
  launched("square_numbers");
  for (const auto& a : std::span(arrays, static_cast<std::size_t>(count))) {
    const float most = *there(a.largest);
    if (a.n == 0 || !std::isfinite(most)) continue;
    kernels::SquareSum sum(most);
    sum.add(a.n, there(a.x));
    const auto numbers = sum.numbers();
    std::copy(numbers.begin(), numbers.end(), there(a.numbers));
  }
}

// That core has brought the room that was asked for: all of it is written to.
std::int64_t norm_room(std::int64_t rows, std::int64_t n) { return rows + n; }

// What is normed: x, or its sum with a residual, which is rounded first.
void add_residual(DType type, std::int64_t n, const void* x, const void* residual, void* sum) {
  const Floats in(type, x, n), more(type, residual, n), out(type, sum, n);
  const float *a = in, *b = more;
  float* to = out;
  for (std::int64_t i = 0; i < n; ++i) to[i] = a[i] + b[i];
}
const void* normed(DType type, std::int64_t n, const void* x, const void* residual, void* sum) {
  if (residual == nullptr) return x;
  add_residual(type, n, x, residual, sum);
  return sum;
}
// dx += dsum, before it is rounded
void add_gradient(DType type, std::int64_t n, const void* dsum, float* dx) {
  if (dsum == nullptr) return;
  const Floats more(type, dsum, n);
  kernels::add_into(n, dx, more);
}

void rms_forward(DType type, std::int64_t rows, std::int64_t n, const void* x, const void* residual,
                 const float* weight, float eps, void* sum, void* y, float* rstd, float* largest,
                 Stream /*stream*/) {
  const GivesLargest gives(type, y, rows * n, largest);
  launched("rms_norm.forward");
  const Floats in(type, normed(type, rows * n, x, residual, sum), rows * n), out(type, y, rows * n);
  kernels::rms_norm_forward(rows, n, in, there(weight), eps, out, there(rstd));
}

void rms_backward(DType type, std::int64_t rows, std::int64_t n, const void* x, const float* weight,
                  const float* rstd, const void* dy, const void* dsum, void* dx, float* dweight, float* room,
                  float* largest, Stream /*stream*/) {
  const GivesLargest gives(type, dx, rows * n, largest);
  launched("rms_norm.backward");
  if (dweight != nullptr) std::fill_n(there(room), norm_room(rows, n), 1.0F);
  const Floats in(type, x, rows * n), g(type, dy, rows * n), out(type, dx, rows * n);
  kernels::rms_norm_backward(rows, n, in, there(weight), there(rstd), g, out, there(dweight));
  add_gradient(type, rows * n, dsum, out);
}

void layer_forward(DType type, std::int64_t rows, std::int64_t n, const void* x, const void* residual,
                   const float* weight, const float* bias, float eps, void* sum, void* y, float* mean,
                   float* rstd, float* largest, Stream /*stream*/) {
  const GivesLargest gives(type, y, rows * n, largest);
  launched("layer_norm.forward");
  const Floats in(type, normed(type, rows * n, x, residual, sum), rows * n), out(type, y, rows * n);
  kernels::layer_norm_forward(rows, n, in, there(weight), there(bias), eps, out, there(mean), there(rstd));
}

void layer_backward(DType type, std::int64_t rows, std::int64_t n, const void* x, const float* weight,
                    const float* mean, const float* rstd, const void* dy, const void* dsum, void* dx,
                    float* dweight, float* dbias, float* room, float* largest, Stream /*stream*/) {
  const GivesLargest gives(type, dx, rows * n, largest);
  launched("layer_norm.backward");
  if (dweight != nullptr) std::fill_n(there(room), norm_room(rows, n), 1.0F);
  const Floats in(type, x, rows * n), g(type, dy, rows * n), out(type, dx, rows * n);
  kernels::layer_norm_backward(rows, n, in, there(weight), there(mean), there(rstd), g, out, there(dweight),
                               there(dbias));
  add_gradient(type, rows * n, dsum, out);
}

void activate(core::Activation f, DType type, std::int64_t n, const void* x, void* y, float* largest,
              Stream /*stream*/) {
  const GivesLargest gives(type, y, n, largest);
  launched("activate.forward");
  const Floats in(type, x, n), out(type, y, n);
  kernels::activate(f, n, in, out);
}

void activate_backward(core::Activation f, DType type, std::int64_t n, const void* x, const void* dy,
                       void* dx, float* largest, Stream /*stream*/) {
  const GivesLargest gives(type, dx, n, largest);
  launched("activate.backward");
  const Floats in(type, x, n), g(type, dy, n), out(type, dx, n);
  kernels::activate_backward(f, n, in, g, out);
}

void gated(core::Activation f, DType type, std::int64_t rows, std::int64_t n, const void* gate,
           const void* up, std::int64_t stride, void* y, float* largest, Stream /*stream*/) {
  const GivesLargest gives(type, y, rows * n, largest);
  launched("gated.forward");
  const auto extent = (rows - 1) * stride + n;
  const Floats in(type, gate, extent), more(type, up, extent), out(type, y, rows * n);
  for (std::int64_t r = 0; r < rows; ++r)
    kernels::gated(f, n, in + r * stride, more + r * stride, out + r * n);
}

void gated_backward(core::Activation f, DType type, std::int64_t rows, std::int64_t n, const void* gate,
                    const void* up, std::int64_t stride, const void* dy, void* dgate, void* dup,
                    std::int64_t gradient_stride, float* largest, Stream /*stream*/) {
  launched("gated.backward");
  const std::int64_t extent = (rows - 1) * stride + n, size = type == DType::f32 ? 4 : 2;
  const Floats in(type, gate, extent), more(type, up, extent), g(type, dy, rows * n);
  for (std::int64_t r = 0; r < rows; ++r) {  // each alone: between them lie results of others
    const auto at = r * gradient_stride * size;
    const GivesLargest of_gate(type, static_cast<char*>(dgate) + at, n, largest),
        of_up(type, static_cast<char*>(dup) + at, n, largest);
    const Floats out(type, static_cast<char*>(dgate) + at, n), out2(type, static_cast<char*>(dup) + at, n);
    kernels::gated_backward(f, n, in + r * stride, more + r * stride, g + r * n, out, out2);
  }
}

void max_abs8(DType type, std::int64_t n, const void* x, float* largest, Stream /*stream*/) {
  launched("narrow8.max_abs");
  *there(largest) = largest_of(type, x, n);
}

void quantize8(DType type, core::Fp8 format, std::int64_t rows, std::int64_t n, const void* x,
               const float* largest, std::int64_t parts, void* y, void* turned, float* inverse,
               Stream /*stream*/) {
  launched("narrow8.quantize");
  const float most = largest_of(type, x, rows * n), given = largest_of(DType::f32, largest, parts);
  if (most != given && !std::isnan(most)) computed("narrow8.of_another_largest");
  const Floats in(type, x, rows * n);
  *there(inverse) = kernels::quantize(rows, n, in, given, format, there(static_cast<std::uint8_t*>(y)),
                                      there(static_cast<std::uint8_t*>(turned)));
}

// Heads as the CPU's kernels take them: fp32, in a copy without gaps, of which results go back one by one.
class Heads {
 public:
  using S = kernels::AttentionShape;
  template <class T>
  Heads(DType type, const S& s, const kernels::HeadsRef<T>& at, bool of_query)
      : type_(type),
        sizes_{s.batch, of_query ? s.queries : s.keys, s.kv_heads, of_query ? s.group : 1, s.head_dim},
        from_{const_cast<void*>(static_cast<const void*>(at.data)), at.batch, at.position, at.kv_head,
              at.group},
        writes_(!std::is_const_v<T>) {
    const auto [b, p, h, g, d] = sizes_;
    copy_.resize(static_cast<std::size_t>(b * p * h * g * d));
    if (!writes_) each([&](void* there, float* here) { move(there, here, false); });
  }
  Heads(const Heads&) = delete;
  Heads& operator=(const Heads&) = delete;
  ~Heads() {
    if (writes_) each([&](void* there, float* here) { move(there, here, true); });
  }
  operator kernels::HeadsRef<const float>() const { return ref<const float>(); }
  operator kernels::HeadsRef<float>() { return ref<float>(); }

 private:
  template <class T>
  kernels::HeadsRef<T> ref() const {
    const auto [b, p, h, g, d] = sizes_;
    return {const_cast<float*>(copy_.data()), p * h * g * d, h * g * d, g * d, d};
  }
  template <class F>
  void each(const F& f) {
    const auto [b, p, h, g, d] = sizes_;
    const auto size = type_ == DType::f32 ? sizeof(float) : sizeof(std::uint16_t);
    float* here = copy_.data();
    char* first = there(static_cast<char*>(from_.data));
    for (std::int64_t i = 0; i < b * p * h * g; ++i, here += d) {
      const auto at = i / (p * h * g) * from_.batch + i / (h * g) % p * from_.position +
                      i / g % h * from_.kv_head + i % g * from_.group;
      f(first + at * static_cast<std::int64_t>(size), here);
    }
  }
  void move(void* there, float* here, bool back) const {
    const auto n = sizes_[4];
    if (type_ == DType::f32) {
      std::memcpy(back ? there : here, back ? here : there, static_cast<std::size_t>(n) * sizeof(float));
    } else if (back) {
      kernels::to_bf16(n, here, static_cast<std::uint16_t*>(there));
    } else {
      kernels::from_bf16(n, static_cast<std::uint16_t*>(there), here);
    }
  }

  DType type_;
  std::array<std::int64_t, 5> sizes_;
  kernels::HeadsRef<void> from_;
  bool writes_;
  std::vector<float> copy_;
};

std::atomic<bool> takes = true;

bool takes_attention(DType /*type*/, const kernels::AttentionShape& /*s*/,
                     const kernels::AttentionRule& /*r*/) {
  return takes;
}

std::int64_t attention_room(const kernels::AttentionShape& s) { return s.batch * s.queries; }

kernels::AttentionRule on_host(kernels::AttentionRule rule) {
  rule.query_segments = there(rule.query_segments);
  rule.key_segments = there(rule.key_segments);
  rule.slopes = there(rule.slopes);
  return rule;
}

using In = core::DeviceKernels::Attention::In;
using Out = core::DeviceKernels::Attention::Out;

void attention_forward(DType type, const kernels::AttentionShape& s, const kernels::AttentionRule& rule, In q,
                       In k, In v, Out out, float* lse, Stream /*stream*/) {
  launched("attention.forward");
  const Heads query(type, s, q, true), key(type, s, k, false), value(type, s, v, false);
  Heads result(type, s, out, true);
  kernels::attention_forward(s, on_host(rule), query, key, value, result, there(lse));
}

void attention_backward(DType type, const kernels::AttentionShape& s, const kernels::AttentionRule& rule,
                        In q, In k, In v, In out, const float* lse, In dout, Out dq, Out dk, Out dv,
                        float* room, Stream /*stream*/) {
  launched("attention.backward");
  std::fill_n(there(room), attention_room(s), 1.0F);
  const Heads query(type, s, q, true), key(type, s, k, false), value(type, s, v, false),
      result(type, s, out, true), gradient(type, s, dout, true);
  Heads of_query(type, s, dq, true), of_key(type, s, dk, false), of_value(type, s, dv, false);
  kernels::attention_backward(s, on_host(rule), query, key, value, result, there(lse), gradient, of_query,
                              of_key, of_value);
}

void rope(std::int64_t count, const kernels::Turned* arrays, DType type, const float* cos, const float* sin,
          bool inverse, Stream /*stream*/) {
  launched("rope");
  for (const auto& a : std::span(arrays, static_cast<std::size_t>(count))) {
    const kernels::RopeShape& s = a.shape;
    const auto extent = [&](std::int64_t batch, std::int64_t position, std::int64_t head) {
      const auto last = (s.batch - 1) * batch + (s.positions - 1) * position + (s.heads - 1) * head;
      return std::max<std::int64_t>(0, last + s.dim);
    };
    const Floats in(type, a.x, extent(s.x_batch, s.x_position, s.x_head)),
        out(type, a.y, extent(s.y_batch, s.y_position, s.y_head));
    kernels::rope(s, in, there(cos), there(sin), out, inverse);
  }
}

void dropout(Key key, const Key* at, std::int64_t first, std::int64_t n, float p, DType type, const void* x,
             void* y, Stream /*stream*/) {
  launched("dropout");
  if (at != nullptr) key = *static_cast<const Key*>(shadow(at));
  const Floats in(type, x, n), out(type, y, n);
  kernels::dropout(key, first, n, p, in, out);
}

std::int64_t embedding_room(std::int64_t places, std::int64_t width) { return places + width; }

// In order of places, as libtorch's for the CPU.
void embedding_backward(DType type, std::int64_t places, std::int64_t width, std::int64_t vocab,
                        const std::int32_t* ids, const std::int32_t* order, const void* dy, float* table,
                        float* room, Stream /*stream*/) {
  launched("embedding.backward");
  std::fill_n(there(room), embedding_room(places, width), 1.0F);
  const Floats from(type, dy, places * width);
  for (std::int64_t p = 0; p < places; ++p) {
    const std::int64_t id = there(ids)[p];
    if (id < 0 || id >= vocab) continue;
    float* to = there(table) + id * width;
    kernels::add_into(width, to, from + there(order)[p] * width);
  }
}

std::int64_t slots_room(std::int64_t n, std::int64_t experts) { return n + experts; }

// One visit after the other.
void plan_slots(DType type, std::int64_t n, std::int64_t experts, const void* choices,
                const kernels::SlotPlaces& to, std::int32_t* room, Stream /*stream*/) {
  launched("slots.plan");
  std::fill_n(there(room), slots_room(n, experts), 1);
  std::vector<std::vector<std::int32_t>> visits(static_cast<std::size_t>(experts));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t e = type == DType::i32 ? there(static_cast<const std::int32_t*>(choices))[i]
                                              : there(static_cast<const std::int64_t*>(choices))[i];
    visits[static_cast<std::size_t>(std::clamp<std::int64_t>(e, 0, experts - 1))].push_back(
        static_cast<std::int32_t>(i));
  }
  std::int32_t slot = 0;
  std::int64_t* pad = there(to.pads);
  for (std::int64_t e = 0; e < experts; ++e) {
    const auto& own = visits[static_cast<std::size_t>(e)];
    for (const auto v : own) {
      there(to.place)[v] = slot;
      there(to.visits)[slot++] = v;
    }
    there(to.rows)[e] = static_cast<std::int32_t>(own.size());
    const auto pads = e + 1 == experts
                          ? n + 8 * experts - slot
                          : std::max<std::int64_t>(8, (std::ssize(own) + 7) / 8 * 8) - std::ssize(own);
    for (std::int64_t i = 0; i < pads; ++i) {
      *pad++ = slot;
      there(to.visits)[slot++] = 0;
    }
    there(to.ends)[e] = slot;
  }
}

void bias_gradient(DType type, std::int64_t rows, std::int64_t n, const void* x, std::int64_t stride,
                   float* out, Stream /*stream*/) {
  launched("bias_gradient");
  const Floats in(type, x, (rows - 1) * stride + n);
  std::fill_n(there(out), n, 0.0F);
  for (std::int64_t r = 0; r < rows; ++r) kernels::add_column_sums(1, n, in + r * stride, 1, there(out));
}

void cross_entropy(DType type, std::int64_t rows, std::int64_t vocab, void* x, std::int64_t stride,
                   const std::int32_t* targets, const float* weights, float z_loss, float* loss, float* lse,
                   bool gradient, const kernels::HeadMap& map, Stream /*stream*/) {
  launched("cross_entropy");
  const Floats z(type, x, (rows - 1) * stride + vocab);
  kernels::cross_entropy(rows, vocab, z, stride, there(targets), there(weights), z_loss, there(loss),
                         there(lse), gradient, {map.scale, map.soft_cap, there(map.bias)});
}

}  // namespace

void take_attention(bool on) { takes = on; }

core::DeviceKernels kernels() {
  return {.adamw = adamw,
          .adamw_bf16 = adamw_bf16,
          .add_into = NotedList<add_into>::call,
          .narrow = NotedList<narrow>::call,
          .max_abs = NotedList<max_abs>::call,
          .square_numbers = NotedList<square_numbers>::call,
          .rms_norm = {Noted<rms_forward>::call, Noted<rms_backward>::call},
          .layer_norm = {Noted<layer_forward>::call, Noted<layer_backward>::call},
          .norm_room = norm_room,
          .bias_gradient = Noted<bias_gradient>::call,
          .activate = {Noted<activate>::call, Noted<activate_backward>::call},
          .gated = {Noted<gated>::call, Noted<gated_backward>::call},
          .activated_product = activated_products(),
          .narrow8 = {Noted<max_abs8>::call, Noted<quantize8>::call},
          .attention = {takes_attention, Noted<attention_forward>::call, Noted<attention_backward>::call,
                        attention_room},
          .rope = NotedList<rope>::call,
          .dropout = Noted<dropout>::call,
          .embedding = {Noted<embedding_backward>::call, embedding_room},
          .slots = {Noted<plan_slots>::call, slots_room},
          .cross_entropy = Noted<cross_entropy>::call,
          .graph = graph_entries(),
          .copies = copies_entries()};
}

}  // namespace bora::fake_device
