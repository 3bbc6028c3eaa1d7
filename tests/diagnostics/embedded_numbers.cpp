// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Embedded numbers
// WHY: an embedding looks rows up by ids.
// FIX: tokens(ids) with Indices<Batch, Pos>
// EXPECT-GCC: no match for call to .\(const bora::nn::Embedding<Vocab, Embed>\) \(const bora::Named<Batch, Pos>&
// EXPECT-CLANG: 'operator\(\)' is unavailable: Embedding<Vocab, Embed> takes ids
#include "axes.h"
#include "models.h"
auto wrong(const nn::Embedding<Vocab, Embed>& tokens, const Named<Batch, Pos>& x) {
  return tokens(x);  // USER
}
