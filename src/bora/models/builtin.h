// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::models {

/// Adds the types that come with Bora.
void add_builtin_models();
/// The same without the means to make them, for a program that loads no tensor library.
void add_builtin_configs();

// Parts of add_builtin_models, each compiled for itself.
void add_gemma_models();
void add_gpt_models();
void add_speech_models();

}  // namespace bora::models
