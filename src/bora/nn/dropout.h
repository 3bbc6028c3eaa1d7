// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/named/ops.h"
#include "bora/nn/context.h"

namespace bora::nn {

/// Dropout at a named site: active only while training (the context has a key) and p > 0.
template <NamedTensor X>
X dropout(const X& x, double p, const Context& context, std::string_view site) {
  auto key = context.fold(site);
  return key && p > 0 ? bora::dropout(x, p, *key) : x;
}

}  // namespace bora::nn
