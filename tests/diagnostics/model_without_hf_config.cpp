// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A model without a config.json
// WHY: an export could not be read back.
// FIX: give the model Json hf_config() const.
// EXPECT-GCC: the model needs hf_config\(\)
// EXPECT-CLANG: the model needs hf_config\(\)
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
  nn::ModelShape shape() const { return {}; }
};
auto wrong = nn::erase_type(Model());  // USER
