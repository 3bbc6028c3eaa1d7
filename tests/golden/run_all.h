// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Many short runs of the program: most of their time is loading libraries, so two go at a time.
#pragma once
#include <string>
#include <vector>

#include "program.h"

namespace bora::golden {

/// Runs `bora arguments...` for each element, in the two folders `folder`/0 and `folder`/1, which are made;
/// results in the order given. For runs that write no files.
std::vector<Finished> run_all(const std::string& folder,
                              const std::vector<std::vector<std::string>>& arguments);

}  // namespace bora::golden
