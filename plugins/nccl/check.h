// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

namespace bora::nccl {

/// What a check came to, as the plug-in's C function returns it.
struct Check {
  static constexpr int kRight = 0, kWrong = 1, kNoDevice = 77;
  int outcome = kRight;
  std::string words;  ///< what was run and what was not, in one line
};

/// Runs the transport and the tree sum where there are devices: one worker, then two, each in a thread of its
/// own, on two devices or on the one that there is (which NCCL may refuse). Takes seconds. Never throws.
Check check_devices();

}  // namespace bora::nccl
