// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A model that cannot be called
// WHY: the trainer calls it with the ids of a batch and a context.
// FIX: Hidden operator()(const Ids& ids, const nn::Context& context) const
// EXPECT-GCC: is unavailable: the model needs operator\(\)\(const Indices
// EXPECT-CLANG: the model needs operator\(\)\(const Indices
#include "axes.h"
#include "models.h"
struct Model {
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;
  nn::Embedding<Vocab, Embed> embed;
  using fields = Fields<&Model::embed>;
  Hidden operator()(const Ids& ids) const { return embed(ids); }
  const Named<Vocab, Embed>& head() const { return embed.weight; }
  nn::ModelShape shape() const { return {}; }
  Json hf_config() const { return {}; }
};
auto wrong = nn::erase_type(Model());  // USER
