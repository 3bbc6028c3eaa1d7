// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// Every element along `axis`, without it: views of x. One backward pass stacks their gradients.
std::vector<Array> unbind(const Operand& x, std::string_view axis);

}  // namespace bora::core
