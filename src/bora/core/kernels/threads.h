// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

namespace bora::kernels {

/// Threads of numerical work, the caller's included; libtorch itself runs on one. Call once, before compute.
void set_threads(int n);
int threads();

/// Calls body(begin, end) over fixed chunks [c·chunk, min((c+1)·chunk, n)) of [0, n). The chunks depend on n
/// and `chunk` alone, never on the number of threads; chunks run on any thread in any order. Serial inside
/// itself.
void for_chunks(std::int64_t n, std::int64_t chunk,
                const std::function<void(std::int64_t, std::int64_t)>& body);

/// `look` is called by this thread, whose loops these are, between their chunks: messages that travel beside
/// a computation move only when somebody looks after them. Null: nobody. It must live as long.
void set_between_chunks(const std::function<void()>* look);

/// Name of the SIMD target that dispatch chose: "AVX2", "AVX3_ZEN4", ... Bits depend on it; it goes into the
/// run record.
const char* simd_target();
/// Uses nothing better than `name`: AVX3 (AVX-512) or AVX2. Call before any kernel. False for another
/// name.
bool cap_simd_target(std::string_view name);

}  // namespace bora::kernels
