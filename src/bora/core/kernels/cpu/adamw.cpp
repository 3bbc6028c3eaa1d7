// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/adamw.h"

#include <algorithm>

#include "bora/core/kernels/cpu/chance.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "bora/core/kernels/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/adamw.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

template <class D, class V>
HWY_INLINE V update(D d, const AdamW& s, V p, V grad, V& m, V& v) {
  const auto g = hn::Mul(grad, hn::Set(d, s.gradient_scale));
  m = hn::MulAdd(m, hn::Set(d, s.beta1), hn::Mul(g, hn::Set(d, 1 - s.beta1)));
  v = hn::MulAdd(v, hn::Set(d, s.beta2), hn::Mul(hn::Mul(g, g), hn::Set(d, 1 - s.beta2)));
  auto mean = hn::Mul(m, hn::Set(d, 1 / s.correction1));
  if (s.nesterov) {
    mean = hn::MulAdd(m, hn::Set(d, s.beta1 / s.correction1_next),
                      hn::Mul(g, hn::Set(d, (1 - s.beta1) / s.correction1)));
  }
  const auto root = hn::Sqrt(hn::Mul(v, hn::Set(d, 1 / s.correction2)));
  const auto step = hn::Div(mean, hn::Add(root, hn::Set(d, s.epsilon)));
  return hn::NegMulAdd(hn::Set(d, s.learning_rate), hn::MulAdd(hn::Set(d, s.weight_decay), p, step), p);
}

void adamw_chunk(std::int64_t n, const AdamW& s, float* p, const float* grad, float* m, float* v) {
  const Wide d;
  const std::int64_t width = lanes(d);
  std::int64_t i = 0;
  for (; i + width <= n; i += width) {
    auto mean = hn::LoadU(d, m + i), square = hn::LoadU(d, v + i);
    hn::StoreU(update(d, s, hn::LoadU(d, p + i), hn::LoadU(d, grad + i), mean, square), d, p + i);
    hn::StoreU(mean, d, m + i);
    hn::StoreU(square, d, v + i);
  }
  if (i < n) {
    auto mean = load_part(d, m + i, n - i), square = load_part(d, v + i, n - i);
    store_part(update(d, s, load_part(d, p + i, n - i), load_part(d, grad + i, n - i), mean, square), d,
               p + i, n - i);
    store_part(mean, d, m + i, n - i);
    store_part(square, d, v + i, n - i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
HWY_EXPORT(adamw_chunk);

void adamw(std::int64_t n, const AdamW& s, float* p, const float* grad, float* m, float* v) {
  for_chunks(n, 16384, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(adamw_chunk)(end - begin, s, p + begin, grad + begin, m + begin, v + begin);
  });
}

void adamw(std::int64_t n, const AdamW& s, float* p, const float* grad, std::uint16_t* m, std::uint16_t* v,
           const Rounding& rounding) {
  for_chunks(n, 16384, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kPiece = 1024;
    float mean[kPiece], square[kPiece];
    std::uint32_t words[kPiece];
    for (std::int64_t at = begin; at < end; at += kPiece) {
      const std::int64_t count = std::min(kPiece, end - at);
      from_bf16_here(count, m + at, mean);
      from_bf16_here(count, v + at, square);
      HWY_DYNAMIC_DISPATCH(adamw_chunk)(count, s, p + at, grad + at, mean, square);
      chance_words(rounding, at, count, words);
      by_chance_here(count, mean, words, Half::low, m + at);
      by_chance_here(count, square, words, Half::high, v + at);
    }
  });
}

}  // namespace bora::kernels
#endif
