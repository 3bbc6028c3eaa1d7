// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A model that does not say its sizes
// WHY: nn::erase_type makes a model without its type for trainers and tools; they estimate memory and speed
// from shape().
// FIX: give the model nn::ModelShape shape() const.
// EXPECT-GCC: is unavailable: the model needs shape\(\): what sizes it has
// EXPECT-CLANG: 'erase_type<Model>' is unavailable: the model needs shape\(\)
#include "axes.h"
#include "models.h"
struct Model {
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;
  nn::Embedding<Vocab, Embed> embed;
  using fields = Fields<&Model::embed>;
  Hidden operator()(const Ids& ids, const nn::Context&) const { return embed(ids); }
  const Named<Vocab, Embed>& head() const { return embed.weight; }
};
auto wrong = nn::erase_type(Model());  // USER
