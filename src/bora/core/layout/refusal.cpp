// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/layout/refusal.h"

#include <c10/util/Exception.h>

#include <new>
#include <string>

#include "bora/base/error.h"
#include "bora/core/out_of_memory.h"
#include "bora/core/torch/node.h"

namespace bora::core {
namespace {

// "[batch=2, embed=8] of f32 and [embed=8] of bf16"
std::string listed(std::span<const Operand> operands) {
  std::string text;
  for (const Operand& x : operands) {
    if (x.array.empty()) continue;  // one that the caller left out
    if (!text.empty()) text += " and ";
    text += describe(x) + " of " + std::string(name(x.array.dtype()));
  }
  return text.empty() ? "its operands" : text;
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

// `fact`: "out of memory ..."
[[noreturn]] void out_of_memory(std::string_view op, const std::string& operands, std::string_view fact) {
  fail(ErrorKind::Io, "{}: {}, with {}\nhint: {}", op, fact, operands, kMemoryAdvice);
}

[[noreturn]] void refused(ErrorKind kind, std::string_view op, const std::string& operands,
                          std::string_view said) {
  fail(kind,
       "{}: libtorch refuses {}: {}\nhint: look at the sizes, element types and values above; if they are "
       "right, this is a mistake in Bora",
       op, operands, first_line(said));
}

[[noreturn]] void rethrow_with(std::string_view op, const std::string& operands) {
  try {
    throw;
  } catch (const OutOfMemory& e) {
    out_of_memory(op, operands, e.fact());
  } catch (const std::bad_alloc&) {
    out_of_memory(op, operands, "out of memory");
  } catch (const c10::OutOfMemoryError& e) {
    out_of_memory(op, operands, device_memory_fact(e.msg()));
  } catch (const c10::NotImplementedError& e) {
    refused(ErrorKind::Unsupported, op, operands, e.msg());
  } catch (const c10::Error& e) {
    refused(ErrorKind::InvalidArgument, op, operands, e.msg());
  }
}

}  // namespace

std::string device_memory_fact(std::string_view said) {
  constexpr std::string_view kAsked = "Tried to allocate ";
  const auto device = default_device();
  const auto from = said.find(kAsked);
  auto asked = from == said.npos ? std::string_view() : said.substr(from + kAsked.size());
  asked = asked.substr(0, asked.find(". "));  // "2.00 GiB. GPU 0 has ..."
  return out_of_memory_text(device, asked, device_memory(device));
}

void rethrow(std::string_view op, std::span<const Operand> operands) {
  try {
    throw;
  } catch (const OutOfMemory&) {
    rethrow_with(op, listed(operands));
  } catch (const Error&) {
    throw;
  } catch (...) {
    rethrow_with(op, listed(operands));
  }
}

void rethrow(std::string_view op, const Shape& shape) {
  try {
    throw;
  } catch (const OutOfMemory&) {
    rethrow_with(op, describe(shape));
  } catch (const Error&) {
    throw;
  } catch (...) {
    rethrow_with(op, describe(shape));
  }
}

}  // namespace bora::core
