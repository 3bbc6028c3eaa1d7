// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <string_view>

namespace bora {

/// The characters that versions 15, 15.1 and 16 of Unicode added, in ranges with their general category
/// ("Lu").
void each_newer_category(
    const std::function<void(char32_t first, char32_t last, std::string_view category)>& use);

}  // namespace bora
