// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/revision.h"
#include "bora/cli/main.h"
#include "revision.h"

int main(int argc, char** argv) {
  return bora::cli::main(argc, argv, [] { bora::set_program_revision(kRevision); });
}
