// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A model without fields
// WHY: nothing of it would be trained or saved.
// FIX: using fields = Fields<&Model::embed>;
// EXPECT-GCC: the model needs .fields.
// EXPECT-CLANG: the model needs `fields`
#include "axes.h"
#include "models.h"
struct Model {
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;
  nn::Embedding<Vocab, Embed> embed;
  Hidden operator()(const Ids& ids, const nn::Context&) const { return embed(ids); }
  const Named<Vocab, Embed>& head() const { return embed.weight; }
  nn::ModelShape shape() const { return {}; }
  Json hf_config() const { return {}; }
};
auto wrong = nn::erase_type(Model());  // USER
