// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>

namespace bora {

/// Worker threads for torch-free work (tokenizing, reading, hashing). Numerical kernels use core's own
/// parallel_for. Number of threads: BORA_THREADS or OMP_NUM_THREADS if set, else the cores this process may
/// run on.
int hardware_threads();

/// So many threads, but at most four for each core that this process may run on, with a warning: more make
/// nothing faster, and a machine has only so many.
int bounded_threads(std::int64_t wanted);

/// Calls body(i) for i in [0, n), on up to `threads` threads (0: hardware_threads()); the caller's is one of
/// them. Tasks are taken in order; results must not depend on which thread runs what. The first exception
/// (lowest i) is rethrown after all started tasks have ended.
void parallel_for(std::int64_t n, const std::function<void(std::int64_t)>& body, int threads = 0);

}  // namespace bora
