// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/default_init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "bora/named/test_values.h"
#include "bora/nn/embedding.h"
#include "bora/nn/linear.h"
#include "bora/nn/norm.h"
#include "bora/nn/stacked.h"

namespace bora::nn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::same_bits;

struct Batch : axis<"batch"> {};
struct Embed : axis<"embed"> {};
struct Head : axis<"head"> {};
struct HeadDim : axis<"head_dim"> {};
struct Vocab : axis<"vocab"> {};

struct Gate {  // inits itself
  Named<Embed> weight;
  double strength = 0;
  using fields = Fields<&Gate::weight, &Gate::strength>;
  static Gate init(const auto& sizes, Key) { return {full(0.25, sizes.template dim<Embed>()), 3}; }
};
struct Block {
  LayerNorm<Embed> norm;
  Linear<Axes<Head, HeadDim>, Embed> out;
  Gate gate;
  using fields = Fields<&Block::norm, &Block::out, &Block::gate>;
};
struct Model {
  Embedding<Vocab, Embed> tokens;
  Stacked<Block> layers;
  std::array<Linear<Embed, Vocab>, 2> heads;
  std::optional<RmsNorm<Embed>> norm;
  int version = 5;
  using fields = Fields<&Model::tokens, &Model::layers, &Model::heads, &Model::norm, &Model::version>;
};

const Key kKey = Key::from_seed(3);
Model model(std::int64_t blocks = 2) {
  return init<Model>(kKey, Dim<Vocab>{50}, Dim<Embed>{40}, Dim<Head>{4}, Dim<HeadDim>{16},
                     Count<Block>{blocks});
}
double std_of(const NamedTensor auto& x) { return std::sqrt(mean_all(square(x)).item()); }

TEST(DefaultInit, EachLayerByItsKind) {
  const auto m = model();
  EXPECT_NEAR(std_of(m.tokens.weight), 0.02, 0.001);
  ASSERT_EQ(m.layers.blocks.size(), 2U);
  const auto& block = m.layers.blocks[1];
  EXPECT_NEAR(std_of(block.out.weight), 1.0 / 8, 0.005) << "head · head_dim inputs";
  EXPECT_EQ(block.out.weight.size<HeadDim>(), 16);
  EXPECT_NEAR(std_of(m.heads[0].weight), 1 / std::sqrt(40.0), 0.01);
  EXPECT_TRUE(same_bits(block.norm.weight, ones(Dim<Embed>{40})));
  EXPECT_TRUE(same_bits(block.norm.bias, zeros(Dim<Embed>{40})));
  EXPECT_TRUE(same_bits(block.out.bias, zeros(Dim<Embed>{40})));
  EXPECT_EQ(block.norm.eps, 1e-5);
  EXPECT_FALSE(m.norm) << "an optional member stays empty";
  EXPECT_EQ(m.version, 5);
  EXPECT_TRUE(same_bits(block.gate.weight, full(0.25, Dim<Embed>{40}))) << "its own init";
  EXPECT_EQ(block.gate.strength, 3);
  EXPECT_TRUE(model(0).layers.blocks.empty());
}

TEST(DefaultInit, KeysArePaths) {
  const auto a = model(1), b = model(2);
  EXPECT_TRUE(same_bits(a.layers.blocks[0].out.weight, b.layers.blocks[0].out.weight))
      << "of any number of blocks";
  EXPECT_FALSE(same_bits(b.layers.blocks[0].out.weight, b.layers.blocks[1].out.weight));
  EXPECT_FALSE(same_bits(b.heads[0].weight, b.heads[1].weight));
  const auto key = kKey.fold("layers").fold(std::uint64_t{0}).fold("out").fold("weight");
  EXPECT_TRUE(same_bits(a.layers.blocks[0].out.weight,
                        random_normal(key, 0, 1.0 / 8, Dim<Embed>{40}, Dim<Head>{4}, Dim<HeadDim>{16})));
}

struct Own {
  LayerNorm<Embed> norm;
  using fields = Fields<&Own::norm>;
  static Own init(const auto& sizes, Key key) {
    auto out = default_init<Own>(sizes, key);
    out.norm.bias = {};
    return out;
  }
};

TEST(DefaultInit, AnInitOfItsOwnMayStartFromIt) {
  const auto own = init<Own>(kKey, Dim<Embed>{4});
  EXPECT_TRUE(same_bits(own.norm.weight, ones(Dim<Embed>{4})));
  EXPECT_TRUE(own.norm.bias.empty());
}

struct Tables {
  static constexpr std::string_view kind = "Embedding";
  std::array<Named<Vocab, Embed>, 2> rows;
  std::array<Named<Embed>, 2> bias;
  std::optional<std::vector<Named<Embed>>> more;
  using fields = Fields<&Tables::rows, &Tables::bias, &Tables::more>;
};

TEST(DefaultInit, AnArrayOfParameters) {
  const auto tables = init<Tables>(kKey, Dim<Vocab>{50}, Dim<Embed>{40});
  EXPECT_TRUE(same_bits(tables.rows[1], random_normal(kKey.fold("rows").fold(std::uint64_t{1}), 0, 0.02,
                                                      Dim<Vocab>{50}, Dim<Embed>{40})));
  EXPECT_FALSE(same_bits(tables.rows[0], tables.rows[1]));
  EXPECT_TRUE(same_bits(tables.bias[1], zeros(Dim<Embed>{40})));
}

std::string message(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    return e.what();
  }
  return "nothing was thrown";
}

TEST(DefaultInit, NamesASizeThatIsNone) {
  const auto made = [](std::int64_t embed) { init<Own>(kKey, Dim<Embed>{embed}); };
  EXPECT_THAT(message([&] { made(0); }), HasSubstr("the size of embed is 0\n"));
  EXPECT_THAT(message([&] { made(-3); }), HasSubstr("the size of embed is -3\n"));
  EXPECT_THAT(message([] { model(-1); }), AllOf(HasSubstr("Block is -1\n"), HasSubstr("count")));
}

TEST(DefaultInit, NamesASizeOfNothing) {
  const auto made = [](std::int64_t blocks) {
    init<Model>(kKey, Dim<Vocab>{5}, Dim<Embed>{4}, Dim<Head>{2}, Dim<HeadDim>{3}, Count<Block>{blocks},
                Dim<Batch>{7});
  };
  EXPECT_THAT(message([&] { made(1); }), HasSubstr("batch is the size of no parameter of "));
  EXPECT_NO_THROW(made(0)) << "the gates of blocks could ask for it";
}

struct Pointing {
  std::unique_ptr<Own> own;
  using fields = Fields<&Pointing::own>;
};
struct Around {
  std::map<std::string, Own> by_name;
  Pointing pointing;
  using fields = Fields<&Around::by_name, &Around::pointing>;
};
template <class M, class... Given>
inline constexpr InitFault fault = detail::init_fault<M, Given...>();
static_assert(fault<Tables, Dim<Vocab>, Dim<Embed>> == InitFault::none);
static_assert(fault<Tables, Dim<Vocab>, Dim<Embed>, Dim<Vocab>> == InitFault::size_twice);
static_assert(fault<Tables, Dim<Vocab>, Dim<Embed>, Dim<Head>> == InitFault::unused_size);
static_assert(fault<Tables, Dim<Vocab>, Dim<Embed>, Count<Block>> == InitFault::unused_size);
static_assert(fault<Tables, Dim<Vocab>> == InitFault::missing_size);
static_assert(fault<Around> == InitFault::unmade_member);
static_assert(fault<Model, Dim<Vocab>, Dim<Embed>, Dim<Head>, Dim<HeadDim>, Count<Block>, Dim<Batch>> ==
              InitFault::none);  // Gate may ask for it
static_assert(
    std::is_same_v<UnmadeMembers<Around>, detail::Types<detail::init_makes_no<std::map<std::string, Own>>,
                                                        detail::init_makes_no<std::unique_ptr<Own>>>>);
static_assert(std::is_same_v<UnusedSizes<Tables, Dim<Vocab>, Dim<Head>>, detail::Types<Dim<Head>>>);

static_assert(EverySizeGiven<Model, Dim<Vocab>, Dim<Embed>, Dim<Head>, Dim<HeadDim>, Count<Block>>);
static_assert(!EverySizeGiven<Model, Dim<Vocab>, Dim<Embed>, Dim<Head>, Dim<HeadDim>>);
static_assert(std::is_same_v<MissingSizes<Block, Dim<Embed>, Dim<Head>>, detail::Types<Dim<HeadDim>>>);
static_assert(EverySizeGiven<Linear<Embed, Vocab>, Dim<Batch>, Dim<Vocab>, Dim<Embed>>);  // one too many

}  // namespace
}  // namespace bora::nn
