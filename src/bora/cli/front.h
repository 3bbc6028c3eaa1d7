// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::cli {

/// The command `bora`, in front of the program `bora-run` beside it that does the work. Loading the tensor
/// library takes a quarter of a second; a mistake in a configuration is told before that, and watching over
/// workers needs none of it.
int front(int argc, char** argv);

}  // namespace bora::cli
