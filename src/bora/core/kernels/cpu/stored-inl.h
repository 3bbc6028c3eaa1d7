// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A vector of weights in fp32, whatever they are stored as; zeros stand behind the last of them.
#if defined(BORA_CORE_KERNELS_STORED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BORA_CORE_KERNELS_STORED_INL_H_
#undef BORA_CORE_KERNELS_STORED_INL_H_
#else
#define BORA_CORE_KERNELS_STORED_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "bora/core/kernels/cpu/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE hn::Vec<Wide> widened(Wide d, const std::uint16_t* bf16) {
  const hn::RebindToUnsigned<Wide> bits;
  const hn::Rebind<std::uint16_t, Wide> half;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(half, bf16))));
}

HWY_INLINE hn::Vec<Wide> widened(Wide d, const std::int8_t* int8) {
  const hn::RebindToSigned<Wide> whole;
  const hn::Rebind<std::int8_t, Wide> byte;
  return hn::ConvertTo(d, hn::PromoteTo(whole, hn::LoadU(byte, int8)));
}

template <class W>
HWY_INLINE hn::Vec<Wide> load_weights(Wide d, const W* w, std::int64_t left) {
  if (left >= lanes(d)) return widened(d, w);
  W part[hn::MaxLanes(Wide())] = {};
  std::memcpy(part, w, static_cast<std::size_t>(left) * sizeof(W));
  return widened(d, part);
}
HWY_INLINE hn::Vec<Wide> load_weights(Wide d, const float* w, std::int64_t left) {
  return left >= lanes(d) ? hn::LoadU(d, w) : load_part(d, w, left);
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#endif
