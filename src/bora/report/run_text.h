// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/report/run_files.h"

namespace bora::report {

/// A run in lines for a terminal: what became of it, on what, from which data, and each of its starts.
std::string run_text(const RunFiles& run);

}  // namespace bora::report
