// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <vector>

namespace bora::run {

/// The shared libraries of this process, plug-ins and what they brought too, by the names of their files, which end in
/// their versions: "libfmt.so.9.1.0". Sorted.
std::vector<std::string> loaded_libraries();

}  // namespace bora::run
