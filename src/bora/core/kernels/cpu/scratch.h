// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::kernels {

/// Which of a thread's reusable buffers; a kernel that needs several at once takes different ones.
enum class Scratch { packed, tile, partial, shared, widened, aligned, from_bf16, row };

/// A buffer of at least `n` uninitialised floats, aligned to 64 bytes, that belongs to the calling thread. It
/// stays valid until the same thread asks for the same slot again; it grows and is never given back before
/// the thread ends.
float* scratch(Scratch slot, std::int64_t n);

}  // namespace bora::kernels
