// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/layout/refusal.h"

#include <c10/util/Exception.h>

#include <new>
#include <string>

#include "bora/base/error.h"
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

[[noreturn]] void out_of_memory(std::string_view op, const std::string& operands) {
  fail(ErrorKind::Io,
       "{}: out of memory, with {}\nhint: a smaller trainer.train_batch_size, more trainer.lanes, or "
       "model.gradient_checkpointing",
       op, operands);
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
  } catch (const std::bad_alloc&) {
    out_of_memory(op, operands);
  } catch (const c10::OutOfMemoryError&) {
    out_of_memory(op, operands);
  } catch (const c10::NotImplementedError& e) {
    refused(ErrorKind::Unsupported, op, operands, e.msg());
  } catch (const c10::Error& e) {
    refused(ErrorKind::InvalidArgument, op, operands, e.msg());
  }
}

}  // namespace

void rethrow(std::string_view op, std::span<const Operand> operands) {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (...) {
    rethrow_with(op, listed(operands));
  }
}

void rethrow(std::string_view op, const Shape& shape) {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (...) {
    rethrow_with(op, describe(shape));
  }
}

}  // namespace bora::core
