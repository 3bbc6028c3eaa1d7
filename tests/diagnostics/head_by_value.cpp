// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A head that is a copy
// WHY: the trainer holds the head in memory for a step, so it must be what the model holds. A matrix
// [embed, vocab] is a converted copy of one [vocab, embed].
// FIX: const Named<Vocab, Embed>& head() const { return lm_head.weight; }
// EXPECT-GCC: head\(\) must be \[vocab, embed\] and return what the model holds
// EXPECT-CLANG: head\(\) must be \[vocab, embed\] and return what the model holds
#include "axes.h"
#include "models.h"
struct Model {
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;
  nn::Embedding<Vocab, Embed> embed;
  using fields = Fields<&Model::embed>;
  Hidden operator()(const Ids& ids, const nn::Context&) const { return embed(ids); }
  Named<Embed, Vocab> head() const { return embed.weight; }
  nn::ModelShape shape() const { return {}; }
  Json hf_config() const { return {}; }
};
auto wrong = nn::erase_type(Model());  // USER
