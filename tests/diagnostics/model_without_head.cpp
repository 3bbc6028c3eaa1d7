// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A model without a head
// WHY: the loss multiplies hidden states with it, some positions at a time.
// FIX: const Named<Vocab, Embed>& head() const { return lm_head.weight; }
// EXPECT-GCC: the model needs head\(\): a const reference
// EXPECT-CLANG: the model needs head\(\): a const reference
#include "axes.h"
#include "models.h"
struct Model {
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;
  nn::Embedding<Vocab, Embed> embed;
  using fields = Fields<&Model::embed>;
  Hidden operator()(const Ids& ids, const nn::Context&) const { return embed(ids); }
  nn::ModelShape shape() const { return {}; }
  Json hf_config() const { return {}; }
};
auto wrong = nn::erase_type(Model());  // USER
