// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::optim {

/// Adds the optimizers that come with Bora.
void add_builtin_optimizers();
/// The same without the means to make them, for a program that loads no tensor library.
void add_builtin_optimizer_configs();

}  // namespace bora::optim
