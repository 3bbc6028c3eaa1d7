// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "adamw.h"

#include "adamw_update.h"

namespace bora::cuda {
namespace {

struct Fp32Moments {
  using Arrays = kernels::Stepped;
  using Element = float;
  __device__ static void round(const Arrays& /*a*/, std::int64_t /*i*/, float (& /*m*/)[kPack],
                               float (& /*v*/)[kPack]) {}
};

}  // namespace

void adamw(const kernels::AdamW& step, std::int64_t count, const kernels::Stepped* arrays, Stream stream) {
  adamw_update<Fp32Moments>(step, count, arrays, stream);
}

}  // namespace bora::cuda
