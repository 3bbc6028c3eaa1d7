// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The largest |element| of an array, which is exact and needs no order. What is not finite counts as NaN, the largest of
// all. As bits the numbers that are not negative have the order of whole numbers, and NaN is above infinity.
#pragma once
#include "numbers.h"
#include "reduce.h"

namespace bora::cuda {

struct LargestBits {
  __device__ unsigned operator()(unsigned a, unsigned b) const { return a > b ? a : b; }
};

/// `most`, or |value| where that is larger.
__device__ inline unsigned largest_with(unsigned most, float value) {
  constexpr unsigned kInfinity = 0x7f800000, kNan = 0x7fc00000;
  unsigned bits;
  memcpy(&bits, &value, sizeof(bits));
  bits &= 0x7fffffff;
  return LargestBits()(most, bits >= kInfinity ? kNan : bits);
}
/// The same with the first `count` of a pack, as they are stored in T.
template <class T>
__device__ unsigned largest_with(unsigned most, const float (&v)[kPack], std::int64_t count) {
  for (int j = 0; j < kPack; ++j)
    if (j < count) most = largest_with(most, to_float(from_float<T>(v[j])));
  return most;
}

constexpr std::int64_t kLargestBytes = kWarp * sizeof(unsigned);  // of shared memory, for give_largest()

/// Raises `largest` to what the threads of this block have found. All of them take part.
template <int kThreads>
__device__ void give_largest(unsigned most, float* largest) {
  most = over_block<kThreads>(most, shared<unsigned>(), LargestBits());
  if (thread() == 0) raise_to(reinterpret_cast<unsigned*>(largest), most);
}

}  // namespace bora::cuda
