// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>

namespace bora {

/// Control characters as \x1b, but line feeds and tabs: a terminal obeys them, whoever wrote them.
std::string without_controls(std::string_view text);

/// What a model or a file says, for standard output: as it is where a program or a file takes it, without controls where
/// a terminal does.
std::string for_standard_output(std::string_view text);

}  // namespace bora
