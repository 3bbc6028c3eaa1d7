// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::models {

/// Adds the types that come with Bora.
void add_builtin_models();
/// The same without the means to make them, for a program that loads no tensor library.
void add_builtin_configs();

}  // namespace bora::models
