// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

namespace bora {

/// Which sources the program was built from: a commit of git, with "-changed" behind it where files differed
/// from it; "" if nobody knows. It stands in the record of every run.
std::string program_revision();
/// Said by a program's main before anything else runs.
void set_program_revision(std::string revision);

}  // namespace bora
