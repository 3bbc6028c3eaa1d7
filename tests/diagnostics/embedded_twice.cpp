// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Embedded ids that have the axis of the vectors
// WHY: the result would have embed twice.
// FIX: Indices<Batch, Pos> ids
// EXPECT-GCC: no match for call to .\(const bora::nn::Embedding<Vocab, Embed>\) \(const bora::Indices<Batch, Embed>&
// EXPECT-CLANG: 'operator\(\)' is unavailable: Embedding<Vocab, Embed> takes ids \(Indices\) that lack the axis Embed
#include "axes.h"
#include "models.h"
auto wrong(const nn::Embedding<Vocab, Embed>& tokens, const Indices<Batch, Embed>& ids) {
  return tokens(ids);  // USER
}
