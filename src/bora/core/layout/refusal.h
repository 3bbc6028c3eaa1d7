// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: what libtorch throws never leaves an op as it is.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "bora/core/array.h"

namespace bora::core {

/// For the catch block around a whole op, which costs nothing while nothing is thrown:
///
///   Array softmax(const Operand& x, Names over) try {
///     ...
///   } catch (...) {
///     rethrow("softmax", {x});
///   }
///
/// Throws the exception being handled: an Error as it is, everything else as an Error that names the op, its
/// operands with their sizes and element types, and what libtorch said.
[[noreturn]] void rethrow(std::string_view op, std::span<const Operand> operands);
[[noreturn]] inline void rethrow(std::string_view op, std::initializer_list<Operand> operands) {
  rethrow(op, std::span<const Operand>(operands.begin(), operands.size()));
}
/// The same of an op that makes an array out of nothing.
[[noreturn]] void rethrow(std::string_view op, const Shape& shape);

/// out_of_memory_text() of default_device(), of whose memory libtorch has `said` that it is full.
std::string device_memory_fact(std::string_view said);

}  // namespace bora::core
