// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/request.h"

#include <array>
#include <cstddef>

#include "bora/base/error.h"

namespace bora::infer {

std::string_view name(Finish finish) {
  constexpr std::array<std::string_view, 4> kNames{"stop", "length", "context", "caller"};
  return kNames.at(static_cast<std::size_t>(finish));
}

void require_prompt(const nn::ModelShape& shape, const std::vector<std::int32_t>& prompt) {
  if (prompt.empty())
    fail(ErrorKind::InvalidArgument,
         "generate: the prompt is empty\nhint: give at least one token, such as the beginning-of-text token");
  if (std::ssize(prompt) >= shape.seq_len) {
    fail(ErrorKind::InvalidArgument,
         "generate: the prompt has {} tokens but the model's seq_len is {}\nhint: a shorter prompt",
         prompt.size(), shape.seq_len);
  }
  for (auto id : prompt) {
    if (id >= 0 && id < shape.vocab) continue;
    fail(
        ErrorKind::InvalidArgument,
        "generate: id {} is outside the vocabulary of {}\nhint: this tokenizer does not belong to this model",
        id, shape.vocab);
  }
}

}  // namespace bora::infer
