// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Attention from its definition: no transpose, no view, no mention of batch or head.
#pragma once
#include <cmath>

#include "bora/named/ops.h"

// [program]
template <bora::Axis Key, bora::Axis... Attended, bora::NamedTensor Q, bora::NamedTensor K,
          bora::NamedTensor M>
auto attention(const Q& query, const K& key, const K& value, const M& mask) {
  auto scores = bora::dot<Key>(query, key) / std::sqrt(query.template size<Key>());
  scores = scores - (1.0 - mask) * 1e9;
  auto weights = bora::softmax<Attended...>(scores);
  return bora::dot<Attended...>(weights, value);
}
// [program]
