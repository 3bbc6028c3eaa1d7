// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/main.h"

int main(int argc, char** argv) { return bora::cli::main(argc, argv); }
