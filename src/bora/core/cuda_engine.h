// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

namespace bora::core {

/// Opens libtorch's part for CUDA where the driver is ready, once in a process, and sets it to sums of one fixed order
/// in full fp32. Before the first backward pass, which settles for good which devices libtorch looks for, and before
/// threads start. Returns why there is none, in half a sentence; empty if it is open, and where what the driver tells
/// (cuda_facts.h) says enough. Never throws.
const std::string& open_cuda_engine();

}  // namespace bora::core
