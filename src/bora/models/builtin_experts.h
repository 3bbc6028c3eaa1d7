// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::models {

/// Adds the families with a mixture of experts.
void add_expert_models();

}  // namespace bora::models
