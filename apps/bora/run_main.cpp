// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <cstdio>
#include <cstdlib>

#include "bora/base/revision.h"
#include "bora/cli/main.h"
#include "revision.h"

int main(int argc, char** argv) {
  const int code = bora::cli::main(argc, argv, [] { bora::set_program_revision(kRevision); });
  std::fflush(nullptr);
  // Libtorch takes its thousands of operators down one by one, a tenth of a second: they end with the process.
  std::_Exit(code);
}
