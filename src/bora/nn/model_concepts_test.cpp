// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What is a complete model, and which part is missed first; tests/diagnostics has what the compiler says.
#include "bora/nn/model_concepts.h"

#include <gtest/gtest.h>

#include "bora/nn/embedding.h"

namespace bora::nn {
namespace {

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct Embed : axis<"embed"> {};
struct Vocab : axis<"vocab"> {};
using Hidden = Named<Batch, Pos, Embed>;
using Ids = Indices<Batch, Pos>;

struct WithAxes {
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;
  Embedding<Vocab, Embed> embed;
  using fields = Fields<&WithAxes::embed>;
};
struct Callable : WithAxes {
  Named<Pos, Batch, Embed> operator()(const Ids& ids, const Context&) const { return embed(ids); }
};
struct WithHead : Callable {
  const Named<Vocab, Embed>& head() const { return embed.weight; }
};
struct WithShape : WithHead {
  ModelShape shape() const { return {}; }
};
struct Complete : WithShape {
  Json hf_config() const { return {}; }
};
struct GivesLogits : Complete {
  Named<Batch, Pos, Vocab> operator()(const Ids&, const Context&) const { return {}; }
};
struct TurnedHead : Complete {
  Named<Embed, Vocab> turned;
  const Named<Embed, Vocab>& head() const { return turned; }
};
struct HeadByValue : Complete {
  Named<Vocab, Embed> head() const { return embed.weight; }
};

static_assert(missing_part<int> == ModelPart::fields &&
              missing_part<Embedding<Vocab, Embed>> == ModelPart::axes);
static_assert(missing_part<WithAxes> == ModelPart::call && missing_part<Callable> == ModelPart::head);
static_assert(missing_part<WithHead> == ModelPart::shape && missing_part<WithShape> == ModelPart::hf_config);
static_assert(CompleteModel<Complete> && !CompleteModel<WithShape>);
static_assert(missing_part<GivesLogits> == ModelPart::hidden);
static_assert(missing_part<TurnedHead> == ModelPart::head_axes &&
              missing_part<HeadByValue> == ModelPart::head_axes);

TEST(ModelConcepts, AreStatic) {}

}  // namespace
}  // namespace bora::nn
