// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A model that does not name its axes
// WHY: tools that know no model by type need its batch, position and embed axes.
// FIX: using BatchAxis = Batch; and so on, as in models/llama.h.
// EXPECT-GCC: the model needs BatchAxis, PosAxis and EmbedAxis
// EXPECT-CLANG: the model needs BatchAxis, PosAxis and EmbedAxis
#include "axes.h"
#include "models.h"
struct Model {
  using BatchAxis = Batch;
  using EmbedAxis = Embed;
  nn::Embedding<Vocab, Embed> embed;
  using fields = Fields<&Model::embed>;
  Hidden operator()(const Ids& ids, const nn::Context&) const { return embed(ids); }
  const Named<Vocab, Embed>& head() const { return embed.weight; }
  nn::ModelShape shape() const { return {}; }
  Json hf_config() const { return {}; }
};
auto wrong = nn::erase_type(Model());  // USER
