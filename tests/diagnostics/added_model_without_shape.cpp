// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: An incomplete model for the commands
// WHY: add_model asks for the same as nn::erase_type, and for a Config and an init.
// FIX: give the model nn::ModelShape shape() const.
// EXPECT-GCC: is unavailable: the model needs shape\(\)
// EXPECT-CLANG: is unavailable: the model needs shape\(\)
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
void wrong() { models::add_model<Model>("model", "an example"); }  // USER
