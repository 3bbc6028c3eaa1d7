// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A model without a configuration for the commands
// WHY: model: in a YAML file is read into the Config of the type that it names.
// FIX: using Config = ...; with bind, shape, parameter_count, to_hf and from_hf.
// EXPECT-GCC: the model needs a type Config
// EXPECT-CLANG: the model needs a type Config
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
  Json hf_config() const { return {}; }
};
void wrong() { models::add_model<Model>("model", "an example"); }  // USER
