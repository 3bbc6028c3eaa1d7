// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bora/named/test_values.h"
#include "bora/nn/kv_cache.h"

namespace bora::nn {
namespace {

using testing::at;
using testing::error_of;
using testing::expect_each;

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct HeadDim : axis<"head_dim"> {};

constexpr std::int64_t kDim = 8;  // theta 10000: frequencies 1, 0.1, 0.01, 0.001

// cos and sin at each position are those of position · frequency, times `scale`.
void expect_frequencies(const RopeConfig& config, const std::vector<double>& f, double scale = 1,
                        std::int64_t dim = kDim) {
  auto table = RopeTable::make(config, dim, 5);
  auto cos = table.cos.to_vector<float>(), sin = table.sin.to_vector<float>();
  ASSERT_EQ(table.cos.sizes(), (std::vector<std::int64_t>{5, static_cast<std::int64_t>(f.size())}));
  for (std::size_t p = 0; p < 5; ++p) {
    for (std::size_t i = 0; i < f.size(); ++i) {
      double angle = static_cast<double>(p) * f[i];
      EXPECT_NEAR(cos[p * f.size() + i], scale * std::cos(angle), 1e-6) << p << " " << i;
      EXPECT_NEAR(sin[p * f.size() + i], scale * std::sin(angle), 1e-6) << p << " " << i;
    }
  }
}

TEST(RopeTable, Default) { expect_frequencies({}, {1, 0.1, 0.01, 0.001}); }

TEST(RopeTable, Linear) {
  expect_frequencies({.type = "linear", .factor = 4}, {0.25, 0.025, 0.0025, 0.00025});
}

// Wavelengths 6.28, 62.8, 628, 6283 and a context of 1000: below 1000/4 they stay, above 1000/1 they are
// divided by 8, and 628.3 lies between: s = (1000/628.3185 - 1) / 3 = 0.1971832, f = 0.01·((1-s)/8 + s) =
// 0.002975353.
TEST(RopeTable, Llama3) {
  RopeConfig c{.type = "llama3", .factor = 8, .original_max_position_embeddings = 1000};
  expect_frequencies(c, {1, 0.1, 0.002975353, 0.001 / 8});
}

// dim(r) = 8·ln(1000/(2πr)) / (2·ln 10000): dim(32) = 0.697 -> 0, dim(1) = 2.202 -> 3: ramp 0, 1/3, 2/3, 1.
// Attention factor 0.1·ln 4 + 1.
TEST(RopeTable, Yarn) {
  RopeConfig c{.type = "yarn", .factor = 4, .original_max_position_embeddings = 1000};
  auto mixed = [](double f, double ramp) { return f / 4 * ramp + f * (1 - ramp); };
  std::vector<double> f{1, mixed(0.1, 1 / 3.0), mixed(0.01, 2 / 3.0), 0.00025};
  expect_frequencies(c, f, 1.1386294361119891);
  c.attention_factor = 0.5;
  expect_frequencies(c, f, 0.5);
  c.attention_factor.reset();
  c.mscale = 2, c.mscale_all_dim = 1;
  expect_frequencies(c, f, 1.2772588722239782 / 1.1386294361119891);
}

TEST(RopeTable, YarnWithoutRounding) {
  RopeConfig c{.type = "yarn", .factor = 4, .truncate = false, .original_max_position_embeddings = 1000};
  auto dimension = [](double r) { return 8 * std::log(1000 / (2 * M_PI * r)) / (2 * std::log(10000.0)); };
  double low = dimension(32), high = dimension(1);
  std::vector<double> f{1, 0.1, 0.01, 0.001};
  for (std::size_t i = 0; i < 4; ++i) {
    double ramp = std::min(std::max((static_cast<double>(i) - low) / (high - low), 0.0), 1.0);
    f[i] = f[i] / 4 * ramp + f[i] * (1 - ramp);
  }
  expect_frequencies(c, f, 1.1386294361119891);
}

// Attention factor sqrt(1 + ln(5/2) / ln(2)); up to 2 positions the short factors, beyond the long ones.
TEST(RopeTable, Longrope) {
  const RopeConfig c{.type = "longrope",
                     .short_factor = {1, 2, 4, 8},
                     .long_factor = {10, 20, 40, 80},
                     .original_max_position_embeddings = 2};
  const auto table = RopeTable::make(c, kDim, 5);
  EXPECT_EQ(table.cos.sizes(), (std::vector<std::int64_t>{2, 4}));
  const double scale = std::sqrt(1 + std::log(2.5) / std::log(2.0));
  const auto x = random_normal(Key::from_seed(1), 0, 1, Dim<HeadDim>{kDim}, Dim<Pos>{5});
  for (const std::int64_t n : {2, 3, 5}) {
    expect_each(rope<Pos, HeadDim>(slice<Pos>(x, 0, n), table, {}), {kDim, n}, [&](auto d, auto p) {
      const double f = std::pow(10.0, -static_cast<double>(d % 4)) / std::pow(2.0, d % 4) / (n > 2 ? 10 : 1);
      const double angle = static_cast<double>(p) * f;
      const double other = d < 4 ? -at(x)(d + 4, p) : at(x)(d - 4, p);
      return scale * (at(x)(d, p) * std::cos(angle) + other * std::sin(angle));
    });
  }
  auto given = c;
  given.attention_factor = 2;
  EXPECT_EQ(RopeTable::make(given, kDim, 5).cos.to_vector<float>()[0], 2);
  EXPECT_EQ(RopeTable::make(c, kDim, 2).cos.to_vector<float>()[0], 1);
  given.long_factor.pop_back();
  EXPECT_EQ(error_of([&] { RopeTable::make(given, kDim, 5); }),
            "rope: long_factor has 3 entries, but 8 dimensions of a head turn in pairs\nhint: 4 entries");
}

// The angles of cached keys are not those that a longer sequence would have.
TEST(RopeTable, LongropeWithACache) {
  const RopeConfig c{.type = "longrope",
                     .short_factor = {1, 1, 1, 1},
                     .long_factor = {2, 2, 2, 2},
                     .original_max_position_embeddings = 3};
  const auto table = RopeTable::make(c, kDim, 6);
  const auto x = random_normal(Key::from_seed(1), 0, 1, Dim<Batch>{1}, Dim<Pos>{6}, Dim<HeadDim>{kDim});
  KvCache cache(1, {6});
  const auto next = [&](std::int64_t n) {
    CachePass pass(cache, {0});
    const auto first = cache.length(0);
    auto out = rope<Pos, HeadDim>(slice<Pos>(x, first, n), table, Context{.cache = &pass});
    pass.finish(n);
    return out;
  };
  EXPECT_TRUE(testing::same_bits(next(3), rope<Pos, HeadDim>(slice<Pos>(x, 0, 3), table, {})));
  EXPECT_EQ(
      error_of([&] { next(1); }),
      "rope: 3 cached positions have the angles of sequences up to 3, and with 1 more it is a longer one\n"
      "hint: truncate the row to 0 and read it again from its beginning");
  cache.truncate(0, 0);
  const auto whole = rope<Pos, HeadDim>(x, table, {});
  EXPECT_TRUE(testing::same_bits(next(4), slice<Pos>(whole, 0, 4)));
  EXPECT_TRUE(testing::same_bits(next(2), slice<Pos>(whole, 4, 2)));
}

// Up to the original context dynamic scaling changes nothing; beyond it, each length has frequencies of its own:
// 10000^(-i/4) with the base times (4·length/5 - 3)^(8/6).
TEST(RopeTable, Dynamic) {
  const RopeConfig c{.type = "dynamic", .factor = 4, .original_max_position_embeddings = 5};
  expect_frequencies(c, {1, 0.1, 0.01, 0.001});
  const auto table = RopeTable::make(c, kDim, 20);
  EXPECT_EQ(table.cos.sizes(), (std::vector<std::int64_t>{5, 4}));
  for (const std::int64_t length : {4, 5, 6, 11, 20}) {
    const double stretch = std::max(1.0, 4 * static_cast<double>(length) / 5 - 3);
    const double f = std::pow(10000 * std::pow(stretch, 8.0 / 6), -0.75);
    EXPECT_NEAR(table.angles(3, 1, length).second.to_vector<float>()[3], std::sin(3 * f), 1e-8) << length;
  }
}

// LlamaRotaryEmbedding of transformers 4.57.6: base 10000, factor 4, 8 positions at first, heads of 6, the last of
// 20 positions.
TEST(RopeTable, DynamicIsThatOfTransformers) {
  const RopeConfig c{.type = "dynamic", .factor = 4, .original_max_position_embeddings = 8};
  const auto [cos, sin] = RopeTable::make(c, 6, 20).angles(19, 1, 20);
  const std::vector<double> want_cos{0.98870462, 0.94495887, 0.99998289},
      want_sin{0.14987721, 0.32718921, 0.00584772};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(cos.to_vector<float>()[i], want_cos[i], 2e-6);
    EXPECT_NEAR(sin.to_vector<float>()[i], want_sin[i], 2e-6);
  }
}

// Layers have copies of one table; in a pass each asks for the same angles.
TEST(RopeTable, DynamicAnglesAreMadeOnceForAllLayers) {
  const RopeConfig c{.type = "dynamic", .factor = 400, .original_max_position_embeddings = 8};
  const auto table = RopeTable::make(c, kDim, 3200);
  const auto layer = table;
  const auto made = table.angles(0, 20, 20);
  EXPECT_EQ(layer.angles(0, 20, 20).first.node(), made.first.node());
  EXPECT_NE(layer.angles(0, 20, 21).first.node(), made.first.node()) << "another length";
  EXPECT_NE(layer.angles(1, 20, 21).first.node(), layer.angles(0, 20, 21).first.node()) << "other positions";
  for (std::int64_t length = 3000; length < 3100; ++length) layer.angles(0, length, length);
  const auto again = table.angles(0, 20, 20);
  EXPECT_NE(again.first.node(), made.first.node()) << "forgotten for newer ones";
  EXPECT_EQ(again.first.to_vector<float>(), made.first.to_vector<float>());
}

// A row is turned by the length that it has then; what is cached keeps its angles. Other rows change nothing.
TEST(RopeTable, DynamicWithACache) {
  const RopeConfig c{.type = "dynamic", .factor = 4, .original_max_position_embeddings = 3};
  const auto table = RopeTable::make(c, kDim, 12);
  const auto x = random_normal(Key::from_seed(2), 0, 1, Dim<Batch>{1}, Dim<Pos>{6}, Dim<HeadDim>{kDim});
  const auto turned = [&](std::int64_t length) {
    return rope<Pos, HeadDim>(slice<Pos>(x, 0, length), table, {});
  };
  KvCache cache(1, {12, 12});
  const auto next = [&](std::int64_t n, std::int64_t whole) {
    CachePass pass(cache, {0}, 0, whole);
    auto out = rope<Pos, HeadDim>(slice<Pos>(x, cache.length(0), n), table, Context{.cache = &pass});
    pass.finish(n);
    return out;
  };
  EXPECT_TRUE(testing::same_bits(next(2, 4), slice<Pos>(turned(4), 0, 2)));
  EXPECT_TRUE(testing::same_bits(next(2, 4), slice<Pos>(turned(4), 2, 2)));
  EXPECT_TRUE(testing::same_bits(next(1, 0), slice<Pos>(turned(5), 4, 1)));
  CachePass both(cache, {1, 0}, 0, 0);
  const auto pair = rope<Pos, HeadDim>(concatenate<Batch>(slice<Pos>(x, 0, 1), slice<Pos>(x, 5, 1)), table,
                                       Context{.cache = &both});
  EXPECT_TRUE(testing::same_bits(slice<Batch>(pair, 0, 1), turned(1)));
  EXPECT_TRUE(testing::same_bits(slice<Batch>(pair, 1, 1), slice<Pos>(turned(6), 5, 1)));
}

TEST(Rope, RotatesHalvesByPosition) {
  auto table = RopeTable::make({}, kDim, 6);
  auto x = random_normal(Key::from_seed(1), 0, 1, Dim<HeadDim>{kDim}, Dim<Pos>{6});
  expect_each(rope<Pos, HeadDim>(x, table, {}), {kDim, 6}, [&](auto d, auto p) {
    double angle = static_cast<double>(p) * std::pow(10.0, -static_cast<double>(d % 4));
    double other = d < 4 ? -at(x)(d + 4, p) : at(x)(d - 4, p);
    return at(x)(d, p) * std::cos(angle) + other * std::sin(angle);
  });
}

// Each row from the position where it stands, as if it were alone.
TEST(Rope, NeighboursTurnTogether) {
  auto table = RopeTable::make({}, kDim, 5);
  table.pairs = core::RopePairs::neighbours;
  const auto x = random_normal(Key::from_seed(4), 0, 1, Dim<Batch>{2}, Dim<Pos>{5}, Dim<HeadDim>{kDim + 2});
  expect_each(rope<Pos, HeadDim>(x, table, {}), {2, 5, kDim + 2}, [&](auto b, auto p, auto d) -> double {
    if (d >= kDim) return at(x)(b, p, d);
    const double angle = static_cast<double>(p) * std::pow(10.0, -static_cast<double>(d / 2));
    const double own = at(x)(b, p, d), other = at(x)(b, p, d ^ 1);
    return own * std::cos(angle) + (d % 2 == 0 ? -1 : 1) * other * std::sin(angle);
  });
}

TEST(Rope, RowsOfACacheGoOn) {
  auto table = RopeTable::make({}, kDim, 6);
  auto x = random_normal(Key::from_seed(1), 0, 1, Dim<Batch>{2}, Dim<Pos>{6}, Dim<HeadDim>{kDim});
  auto whole = rope<Pos, HeadDim>(x, table, {});
  KvCache cache(1, {6, 6});
  CachePass(cache, {0}).finish(4);
  CachePass(cache, {1}).finish(1);
  CachePass pass(cache, {0, 1});
  auto first = slice<Batch>(slice<Pos>(x, 4, 2), 0, 1), second = slice<Batch>(slice<Pos>(x, 1, 2), 1, 1);
  auto parts = rope<Pos, HeadDim>(concatenate<Batch>(first, second), table, Context{.cache = &pass});
  EXPECT_TRUE(testing::same_bits(slice<Batch>(parts, 0, 1), slice<Batch>(slice<Pos>(whole, 4, 2), 0, 1)));
  EXPECT_TRUE(testing::same_bits(slice<Batch>(parts, 1, 1), slice<Batch>(slice<Pos>(whole, 1, 2), 1, 1)));
}

TEST(RopeConfig, HuggingFaceInBothSpellings) {
  auto classic = Json::parse(R"({"rope_theta": 500000, "max_position_embeddings": 131072, "rope_scaling":
    {"type": "llama3", "factor": 32, "low_freq_factor": 1, "high_freq_factor": 4,
     "original_max_position_embeddings": 8192}})");
  auto c = RopeConfig::from_hf(classic, "config.json");
  EXPECT_EQ(c.type, "llama3");
  EXPECT_EQ(c.theta, 500000);
  EXPECT_EQ(c.factor, 32);
  EXPECT_EQ(c.original_max_position_embeddings, 8192);
  auto modern = Json::parse(
      R"({"max_position_embeddings": 4096, "rope_parameters": {"rope_type": "default", "rope_theta": 7}})");
  EXPECT_EQ(RopeConfig::from_hf(modern, "config.json").theta, 7);
  Json out;
  c.to_hf(out);
  auto again = RopeConfig::from_hf(out, "config.json");
  EXPECT_EQ(again.factor, 32);
  EXPECT_EQ(again.type, "llama3");
  auto unknown = Json::parse(R"({"rope_scaling": {"rope_type": "spiral"}})");
  EXPECT_EQ(error_of([&] { RopeConfig::from_hf(unknown, "config.json"); }),
            "config.json: rope_type spiral is not one of default, linear, dynamic, llama3, yarn, longrope");
}

// Beside rope_scaling, among rope_parameters, or not at all: then the factor says how long the context is.
TEST(RopeConfig, LongropeFromHuggingFace) {
  const auto read = [](const char* text) { return RopeConfig::from_hf(Json::parse(text), "config.json"); };
  auto c = read(R"({"max_position_embeddings": 64, "original_max_position_embeddings": 16, "rope_scaling":
    {"type": "longrope", "short_factor": [1, 1.5], "long_factor": [2, 3]}})");
  EXPECT_EQ(c.short_positions(), 16);
  EXPECT_EQ(c.short_factor, (std::vector<double>{1, 1.5}));
  EXPECT_EQ(c.long_factor, (std::vector<double>{2, 3}));
  EXPECT_FALSE(c.attention_factor);
  Json out = {{"max_position_embeddings", 64}};
  c.to_hf(out);
  EXPECT_EQ(out["original_max_position_embeddings"], 16);
  EXPECT_EQ(out["rope_scaling"].size(), 3U);
  EXPECT_EQ(RopeConfig::from_hf(out, "config.json").long_factor, c.long_factor);
  c = read(
      R"({"max_position_embeddings": 64, "rope_parameters": {"rope_type": "longrope", "short_factor": [1],
    "long_factor": [2], "factor": 4, "original_max_position_embeddings": 16}})");
  EXPECT_EQ(c.short_positions(), 16);
  EXPECT_DOUBLE_EQ(c.attention_factor.value(), std::sqrt(1 + std::log(4.0) / std::log(16.0)));
  EXPECT_EQ(error_of([&] { read(R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 0]}})"); }),
            "config.json: rope_scaling.short_factor should be a list of numbers above 0");
}

// transformers 5 scales by the factor wherever it is given, 4 by the quotient where the original stands outside.
TEST(RopeConfig, LongropesFactorOfHuggingFace) {
  const auto read = [](Json more, double factor) {
    more["max_position_embeddings"] = 64;
    more["rope_scaling"].update(
        {{"rope_type", "longrope"}, {"short_factor", {1}}, {"long_factor", {2}}, {"factor", factor}});
    return RopeConfig::from_hf(more, "c");
  };
  const char* key = "original_max_position_embeddings";
  const Json outside = {{key, 16}}, inside = {{"rope_scaling", {{key, 16}}}};
  EXPECT_FALSE(read(outside, 4).attention_factor);
  EXPECT_EQ(read(inside, 1).attention_factor, 1.0);
  EXPECT_DOUBLE_EQ(read(inside, 9).attention_factor.value(), std::sqrt(1 + std::log(9.0) / std::log(16.0)));
  EXPECT_EQ(
      error_of([&] { read(outside, 9); }),
      "c: rope_scaling.factor is 9, but max_position_embeddings / original_max_position_embeddings is 4: versions "
      "of transformers differ in which of the two scales longrope\nhint: give both the same value, or remove factor");
  Json scaled = outside;
  scaled["rope_scaling"]["attention_factor"] = 1.5;
  EXPECT_EQ(read(scaled, 9).attention_factor, 1.5);
}

TEST(RopeConfig, TheOriginalContextMayStandOutside) {
  const char* key = "original_max_position_embeddings";
  for (const char* type : {"llama3", "yarn"}) {
    Json json = {
        {"max_position_embeddings", 64}, {key, 16}, {"rope_scaling", {{"rope_type", type}, {"factor", 2}}}};
    EXPECT_EQ(RopeConfig::from_hf(json, "c").original_max_position_embeddings, 16);
    json["rope_scaling"][key] = 16;
    EXPECT_EQ(RopeConfig::from_hf(json, "c").original_max_position_embeddings, 16);
    // Layers of several types have their own alone.
    EXPECT_EQ(
        RopeConfig::from_hf(
            rope_of_layers({{key, 32}, {"rope_scaling", json["rope_scaling"]}}, "full_attention", "c"), "c")
            .original_max_position_embeddings,
        16);
    json["rope_scaling"][key] = 32;
    EXPECT_EQ(
        error_of([&] { RopeConfig::from_hf(json, "c"); }),
        "c: original_max_position_embeddings is 16 and in rope_parameters 32, which must be the same; remove one "
        "of the two");
  }
  const Json linear = {{"max_position_embeddings", 64}, {key, 16}, {"rope_scaling", {{"type", "linear"}}}};
  EXPECT_EQ(RopeConfig::from_hf(linear, "c").original_max_position_embeddings, 64);
}

TEST(RopeConfig, YarnsNullsAndZeros) {
  Json json =
      Json::parse(R"({"max_position_embeddings": 64, "rope_scaling": {"rope_type": "yarn", "factor": null,
    "original_max_position_embeddings": 16, "mscale": 0.7, "mscale_all_dim": 0}})");
  const auto c = RopeConfig::from_hf(json, "c");
  EXPECT_EQ(c.factor, 4);
  EXPECT_EQ(c.mscale, 0.7);
  EXPECT_FALSE(c.mscale_all_dim);
  json["rope_scaling"].update({{"mscale", 0}, {"mscale_all_dim", 0.7}});
  EXPECT_FALSE(RopeConfig::from_hf(json, "c").mscale);
  // Empty is absent.
  json["rope_parameters"] = json["rope_scaling"];
  json["rope_scaling"] = Json::object();
  EXPECT_EQ(RopeConfig::from_hf(json, "c").type, "yarn");
}

// As transformers 4 and 5 spell it, each complete.
TEST(RopeConfig, BothSpellingsAreWritten) {
  RopeConfig c;
  for (const char* type : {"default", "linear", "dynamic", "llama3", "yarn", "longrope"}) {
    c.type = type;
    c.theta = 500, c.factor = c.type == "longrope" ? 1 : 4;
    if (c.type == "longrope") c.short_factor = {1}, c.long_factor = {2};
    Json both = {{"max_position_embeddings", 64}};
    c.to_hf(both);
    EXPECT_EQ(both["rope_parameters"]["rope_type"], type);
    EXPECT_EQ(both["rope_parameters"]["rope_theta"], 500);
    Json older = both, newer = both;
    older.erase("rope_parameters");
    for (const char* key : {"rope_theta", "rope_scaling"}) newer.erase(key);
    for (const auto& one : {older, newer, both}) {
      Json again = {{"max_position_embeddings", 64}};
      RopeConfig::from_hf(one, "config.json").to_hf(again);
      if (c.type != "default" && c.type != "linear" && c.type != "dynamic") {
        EXPECT_EQ(again, both) << type;
      }
      EXPECT_EQ(again["rope_parameters"], both["rope_parameters"]) << type;
    }
  }
}

struct Model {
  RopeConfig rope;
  void bind(Binder& b) { b.field("rope", rope); }
};

// Reads the members of `rope`, in one line; problems go to `problems`.
RopeConfig bound(const std::string& members, std::string* problems = nullptr) {
  ConfigTree tree;
  tree.merge_text("rope: {" + members + "}\n", "a.yaml");
  Model model;
  std::string found;
  for (const auto& p : read_config(tree, model)) found += p.where + " " + p.key + ": " + p.message + "\n";
  if (problems != nullptr)
    *problems = found;
  else
    EXPECT_EQ(found, "");
  return model.rope;
}

TEST(RopeConfig, ToldTwiceMustAgree) {
  const auto words = [](const Json& json) { return error_of([&] { RopeConfig::from_hf(json, "c"); }); };
  EXPECT_EQ(
      words({{"rope_theta", 500}, {"rope_parameters", {{"rope_theta", 10000}}}}),
      "c: rope_theta is 500 and in rope_parameters 10000; give both the same value, or remove one of the two");
  EXPECT_EQ(
      words({{"rope_scaling", {{"rope_type", "linear"}, {"factor", 2}}},
             {"rope_parameters", {{"rope_type", "linear"}, {"factor", 4}}}}),
      "c: factor is 2 in rope_scaling and 4 in rope_parameters; give both the same value, or remove one of "
      "the two");
  EXPECT_EQ(words({{"rope_theta", 500}, {"rope_parameters", {{"rope_theta", 500}}}}), "no error");
  EXPECT_EQ(words({{"rope_scaling", {{"factor", 2}}}, {"rope_parameters", {{"factor", 2.0}}}}), "no error");
  const Json nested = {{"full_attention", {{"rope_theta", 1e6}}},
                       {"sliding_attention", {{"rope_theta", 10000}}}};
  const Json json = {{"rope_theta", 1e6}, {"rope_parameters", nested}},
             other = {{"rope_theta", 5e5}, {"rope_parameters", nested}};
  const auto theta = [](const Json& j, const char* layers) {
    return RopeConfig::from_hf(rope_of_layers(j, layers, "c"), "c").theta;
  };
  EXPECT_EQ(theta(json, "full_attention"), 1e6);
  EXPECT_EQ(theta(json, "sliding_attention"), 10000);
  EXPECT_EQ(
      error_of([&] { theta(other, "full_attention"); }),
      "c: rope_theta is 500000 and in rope_parameters 1000000; give both the same value, or remove one of the two");
}

TEST(RopeConfig, BindsEveryType) {
  auto c = bound("");
  EXPECT_EQ(c.type, "default");
  EXPECT_EQ(c.theta, 10000);
  c = bound("type: default, theta: 5e5");
  EXPECT_EQ(c.theta, 500000);
  c = bound("type: linear, factor: 4");
  EXPECT_EQ(c.type, "linear");
  EXPECT_EQ(c.factor, 4);
  EXPECT_EQ(c.theta, 10000);
  c = bound("type: llama3");  // with defaults of its own
  EXPECT_EQ(c.theta, 500000);
  EXPECT_EQ(c.factor, 8);
  EXPECT_EQ(c.original_max_position_embeddings, 8192);
  c = bound(
      "type: llama3, theta: 7, factor: 32, low_freq_factor: 2, high_freq_factor: 5, "
      "original_max_position_embeddings: 4096");
  EXPECT_EQ(c.theta, 7);
  EXPECT_EQ(c.factor, 32);
  EXPECT_EQ(c.low_freq_factor, 2);
  EXPECT_EQ(c.high_freq_factor, 5);
  EXPECT_EQ(c.original_max_position_embeddings, 4096);
  c = bound("type: yarn, factor: 4, beta_fast: 16, beta_slow: 2, mscale: 1.5, mscale_all_dim: 0.5");
  EXPECT_EQ(c.type, "yarn");
  EXPECT_EQ(c.beta_fast, 16);
  EXPECT_EQ(c.beta_slow, 2);
  EXPECT_EQ(c.mscale, 1.5);
  EXPECT_EQ(c.mscale_all_dim, 0.5);
  EXPECT_FALSE(c.attention_factor);
  EXPECT_EQ(bound("type: yarn, attention_factor: 1.25").attention_factor, 1.25);
}

TEST(RopeConfig, BindReportsAnUnknownTypeAndKey) {
  std::string problems;
  bound("type: lama3", &problems);
  EXPECT_EQ(
      problems,
      "a.yaml:1 rope.type = lama3: not one of default, linear, dynamic, llama3, yarn, longrope; did you "
      "mean llama3?\n");
  bound("type: spiral", &problems);
  EXPECT_EQ(problems,
            "a.yaml:1 rope.type = spiral: not one of default, linear, dynamic, llama3, yarn, "
            "longrope\n");
  bound("type: linear, factr: 2", &problems);
  EXPECT_EQ(problems, "a.yaml:1 rope.factr: unknown key; did you mean rope.factor?\n");
}

TEST(RopeConfig, NumbersOfOtherTypesAreRefused) {
  const auto problem = [](const std::string& key, const std::string& type, const std::string& types) {
    return "a.yaml:1 rope." + key + ": has no effect with rope.type = " + type + ", only with " + types +
           "; change rope.type, or leave it out\n";
  };
  std::string problems;
  bound("factor: 8, original_max_position_embeddings: 16", &problems);
  EXPECT_EQ(problems, problem("factor = 8", "default", "linear, dynamic, llama3, yarn") +
                          problem("original_max_position_embeddings = 16", "default",
                                  "dynamic, llama3, yarn, longrope"));
  bound("type: llama3, mscale: 1", &problems);
  EXPECT_EQ(problems, problem("mscale = 1", "llama3", "yarn"));
  bound("type: yarn, low_freq_factor: 2", &problems);
  EXPECT_EQ(problems, problem("low_freq_factor = 2", "yarn", "llama3"));
  bound("type: linear, attention_factor: 2, truncate: false", &problems);
  EXPECT_EQ(problems, problem("truncate = false", "linear", "yarn") +
                          problem("attention_factor = 2", "linear", "yarn, longrope"));
  // The defaults said aloud change nothing either.
  EXPECT_EQ(bound("type: default, factor: 1, original_max_position_embeddings: 8192, mscale: null").factor,
            1);
}

// A model of Hugging Face's without scaling has its own context there all the same.
TEST(RopeConfig, RecordsOfOtherTypesNumbersAreRead) {
  Model model{RopeConfig::from_hf({{"max_position_embeddings", 64}}, "c")}, back;
  EXPECT_EQ(model.rope.original_max_position_embeddings, 64);
  model.rope.factor = 2;
  ConfigTree tree;
  tree.merge_text(write_config(model), "a.yaml");
  EXPECT_TRUE(read_config(tree, back).empty());
  EXPECT_EQ(back.rope.original_max_position_embeddings, 64);
  tree.override_value("rope.beta_fast", "16");
  const auto problems = read_config(tree, back);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message,
            "has no effect with rope.type = default, only with yarn; change rope.type, or leave it out");
}

TEST(RopeConfig, WritesWhatItReads) {
  for (const char* members :
       {"type: default", "type: linear, factor: 4", "type: llama3, factor: 16", "type: yarn, mscale: 2",
        "type: longrope, short_factor: [1, 1.5], long_factor: [2, 3]"}) {
    Model out{bound(members)}, back;
    ConfigTree tree;
    tree.merge_text(write_config(out), "a.yaml");
    EXPECT_TRUE(read_config(tree, back).empty());
    EXPECT_EQ(write_config(back), write_config(out));
  }
}

TEST(RopeConfig, OfOneLayerTypeAmongSeveral) {
  const Json full = {{"rope_type", "linear"}, {"factor", 4}, {"rope_theta", 1e6}},
             local = {{"rope_type", "default"}, {"rope_theta", 500}};
  const Json nested = {{"rope_parameters", {{"full_attention", full}, {"sliding_attention", local}}},
                       {"rope_scaling", {{"rope_type", "yarn"}}}};
  EXPECT_TRUE(rope_by_layers(nested));
  EXPECT_EQ(RopeConfig::from_hf(rope_of_layers(nested, "full_attention", "c"), "c").factor, 4);
  const auto other = RopeConfig::from_hf(rope_of_layers(nested, "sliding_attention", "c"), "c");
  EXPECT_EQ(other.type, "default");
  EXPECT_EQ(other.theta, 500);
  EXPECT_EQ(error_of([&] { RopeConfig::from_hf(nested, "c"); }),
            "c: rope_parameters by layer type; layers of this model all have the same");
  auto beside = nested;
  beside["original_max_position_embeddings"] = 0;
  EXPECT_EQ(error_of([&] { rope_of_layers(beside, "full_attention", "c"); }),
            "c: original_max_position_embeddings = 0 must be from 1 to 2147483647");
  EXPECT_EQ(error_of([&] {
              rope_of_layers({{"rope_parameters", {{"full_attention", full}}}}, "sliding_attention", "c");
            }),
            "c: rope_parameters.sliding_attention should be an object");
  const Json flat = {{"rope_parameters", local}};
  EXPECT_FALSE(rope_by_layers(flat));
  EXPECT_EQ(RopeConfig::from_hf(rope_of_layers(flat, "full_attention", "c", 7), "c").theta, 500);
  EXPECT_EQ(RopeConfig::from_hf(rope_of_layers(Json::object(), "full_attention", "c", 7), "c").theta, 7);
}

}  // namespace
}  // namespace bora::nn
