// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/jinja/guard.h"

#include "bora/base/text.h"

namespace bora::jinja {

void Guard::charge_growth(std::size_t before, std::size_t bytes) {
  if (bytes > limits_.output_bytes || before > limits_.output_bytes - bytes) {
    fail(
        "the text grows beyond {} bytes\nhint: raise Limits::output_bytes if the conversation is that "
        "long",
        with_commas(static_cast<std::int64_t>(limits_.output_bytes)));
  }
  charge_bytes(bytes);
}

void Guard::stop(ErrorKind kind, std::string_view what) const {
  bora::fail(kind, "{}: line {}, column {}: {}", name_, at.line, at.column, what);
}

void Guard::out_of_steps() const {
  fail("the template takes more than {} steps\nhint: raise Limits::steps if the conversation is that long",
       with_commas(static_cast<std::int64_t>(limits_.steps)));
}

void Level::too_deep() {
  const int limit = guard_.limits().depth;
  --guard_.depth;  // the destructor of a half-made Level does not run
  guard_.fail("nested deeper than {} levels\nhint: a macro may call itself without end", limit);
}

}  // namespace bora::jinja
