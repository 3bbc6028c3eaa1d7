// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/threads.h"

#include <omp.h>

#include <algorithm>

namespace bora::kernels {

// OpenMP because libtorch brings the same libgomp: one pool of threads, one setting.
void set_threads(int n) { omp_set_num_threads(std::max(1, n)); }

int threads() { return omp_get_max_threads(); }

void for_chunks(std::int64_t n, std::int64_t chunk,
                const std::function<void(std::int64_t, std::int64_t)>& body) {
  const std::int64_t chunks = (n + chunk - 1) / chunk;
  if (chunks <= 1 || threads() == 1 || omp_in_parallel()) {
    for (std::int64_t c = 0; c < chunks; ++c) body(c * chunk, std::min((c + 1) * chunk, n));
    return;
  }
#pragma omp parallel for schedule(dynamic, 1)
  for (std::int64_t c = 0; c < chunks; ++c) body(c * chunk, std::min((c + 1) * chunk, n));
}

}  // namespace bora::kernels
