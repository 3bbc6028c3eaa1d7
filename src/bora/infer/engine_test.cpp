// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include "bora/base/error.h"
#include "bora/base/key.h"
#include "bora/core/create.h"
#include "bora/infer/generate.h"
#include "bora/nn/attention.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/linear.h"
#include "bora/nn/rope.h"

namespace bora::infer {
namespace {

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct KeyPos : axis<"key_position"> {};
struct Embed : axis<"embed"> {};
struct KvHead : axis<"kv_head"> {};
struct Group : axis<"group"> {};
struct HeadDim : axis<"head_dim"> {};
struct Vocab : axis<"vocab"> {};

constexpr std::int64_t kVocab = 60, kEmbed = 32, kSeqLen = 4400;

using Ids = std::vector<std::int32_t>;
using Heads = Axes<KvHead, Group, HeadDim>;
using KvHeads = Axes<KvHead, HeadDim>;

struct Layer {
  static constexpr std::string_view kind = "Layer";
  nn::Linear<Embed, Heads> q;
  nn::Linear<Embed, KvHeads> k, v;
  nn::Linear<Heads, Embed> o;
  nn::RopeTable rope;
  std::int64_t window = 0;
  using fields = Fields<&Layer::q, &Layer::k, &Layer::v, &Layer::o, &Layer::rope, &Layer::window>;

  Named<Batch, Pos, Embed> operator()(const Named<Batch, Pos, Embed>& x, const nn::Context& context) const {
    const auto queries = nn::rope<Pos, HeadDim>(q(x), rope, context);
    const auto keys = rename<Pos, KeyPos>(nn::rope<Pos, HeadDim>(k(x), rope, context));
    const auto values = rename<Pos, KeyPos>(v(x));
    return x + o(nn::attention<Pos, KeyPos, HeadDim>(queries, keys, values, context, {.window = window}));
  }
};

/// Two layers of attention, of which the second may have a window.
struct Toy {
  static constexpr std::string_view kind = "Toy";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;
  nn::Embedding<Vocab, Embed> embed, lm_head;
  Layer first, second;
  using fields = Fields<&Toy::embed, &Toy::lm_head, &Toy::first, &Toy::second>;

  Named<Batch, Pos, Embed> operator()(const Indices<Batch, Pos>& ids, const nn::Context& context) const {
    return second(tanh(first(embed(ids), context.at_layer(0))), context.at_layer(1));
  }
  const Named<Vocab, Embed>& head() const { return lm_head.weight; }
  nn::ModelShape shape() const {
    return {.type = "toy", .layers = 2, .hidden = kEmbed, .vocab = kVocab, .seq_len = kSeqLen};
  }
  Json hf_config() const { return {}; }
};

std::unique_ptr<nn::LanguageModel> long_model(bool window, double head_std = 0.2) {
  const auto key = Key::from_seed(5);
  const auto layer = [&](std::string_view name, std::int64_t sees) {
    const auto own = key.fold(name);
    const Dim<Embed> embed{kEmbed};
    const nn::SizesOf<Heads> heads{Dim<KvHead>{2}, Dim<Group>{2}, Dim<HeadDim>{8}};
    const nn::SizesOf<KvHeads> kv{Dim<KvHead>{2}, Dim<HeadDim>{8}};
    Layer out{nn::Linear<Embed, Heads>::init(embed, heads, own.fold("q"), 0.4),
              nn::Linear<Embed, KvHeads>::init(embed, kv, own.fold("k"), 0.4),
              nn::Linear<Embed, KvHeads>::init(embed, kv, own.fold("v"), 0.4),
              nn::Linear<Heads, Embed>::init(heads, embed, own.fold("o"), 0.4)};
    out.rope = nn::RopeTable::make({}, 8, kSeqLen);
    out.window = sees;
    return out;
  };
  const auto table = [&](std::string_view name, double std) {
    return nn::Embedding<Vocab, Embed>::init(Dim<Vocab>{kVocab}, Dim<Embed>{kEmbed}, key.fold(name), std);
  };
  return nn::erase_type(
      Toy{table("embed", 1), table("head", head_std), layer("first", 0), layer("second", window ? 100 : 0)});
}

// Random lengths, options and neighbours; every fifth has the prompt of the one before it.
std::vector<Request> random_requests(const nn::LanguageModel& model, std::size_t n) {
  const auto shape = model.shape();
  std::vector<Request> out;
  for (std::size_t i = 0; i < n; ++i) {
    const auto key = Key::from_seed(17).fold(i);
    const auto draw = [&](std::uint64_t place, std::int64_t most) {
      return static_cast<std::int64_t>(key.below(static_cast<std::uint64_t>(most), place));
    };
    const auto room = shape.seq_len - 12;
    const auto length = i == 8       ? room  // several chunks of Engine::kChunk
                        : i % 8 == 0 ? 1 + draw(0, room)
                                     : 1 + draw(0, std::min<std::int64_t>(40, room));
    Ids prompt;
    for (std::int64_t j = 0; j < length; ++j)
      prompt.push_back(static_cast<std::int32_t>(draw(100 + static_cast<std::uint64_t>(j), shape.vocab)));
    if (i % 5 == 4) prompt = out.back().prompt;
    out.push_back({prompt,
                   {.max_new_tokens = 1 + draw(1, 9),
                    .seed = static_cast<std::uint64_t>(draw(2, 3)),
                    .sample = i % 5 == 4 ? 1U : 0U,
                    .sampling = {.temperature = i % 3 == 0 ? 0.0 : 1.0, .top_k = 20}}});
  }
  return out;
}

struct Seen {
  std::vector<float> logits;
  Ids ids;
};

// What each of `requests` gets, some of them added while others grow.
std::vector<Seen> together(const nn::LanguageModel& model, const std::vector<Request>& requests,
                           EngineOptions options, std::size_t at_once) {
  Engine engine(model, options);
  std::vector<Seen> out(requests.size());
  engine.observe([&](Engine::Id id, std::span<const float> logits) {
    auto& seen = out[static_cast<std::size_t>(id)].logits;
    seen.insert(seen.end(), logits.begin(), logits.end());
  });
  std::size_t added = 0;
  for (bool going = true; going || added < requests.size();) {
    for (std::size_t i = 0; i < at_once && added < requests.size(); ++i) engine.add(requests[added++]);
    going = engine.step();
    for (auto& [id, text] : engine.take_done()) out[static_cast<std::size_t>(id)].ids = text.ids;
  }
  EXPECT_EQ(engine.cache().pages(), 0);
  return out;
}

// All tokens are equally probable: what is drawn says what the random numbers are.
TEST(Engine, EachPromptDrawsFromRandomNumbersOfItsOwn) {
  const auto model = long_model(false, 0);
  std::vector<Request> requests;
  for (std::int32_t i = 0; i < 200; ++i)
    requests.push_back({{i % 50, i / 50}, {.max_new_tokens = 1, .seed = 3, .sampling = {.temperature = 1}}});
  std::map<std::int32_t, int> drawn;
  for (const auto& seen : together(*model, requests, {.rows = 64}, 64)) ++drawn[seen.ids.front()];
  EXPECT_GT(drawn.size(), 50u) << "of 60";
  EXPECT_EQ(together(*model, {requests[7]}, {.rows = 1}, 1).front().ids,
            together(*model, {requests[7]}, {.rows = 1}, 1).front().ids);
}

TEST(Engine, Gives64RequestsTheBitsThatEachGetsAlone) {
  for (const bool window : {false, true}) {
    const auto model = long_model(window);
    const auto requests = random_requests(*model, 64);
    const auto many = together(*model, requests, {.rows = 64}, 64),
               some = together(*model, requests, {.rows = 7}, 3),
               slow = together(*model, requests, {.rows = 20, .prompt_tokens = 1}, 9);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto alone = together(*model, {requests[i]}, {.rows = 1}, 1).front();
      ASSERT_EQ(alone.logits.size(), alone.ids.size() * 60);
      ASSERT_EQ(std::ssize(alone.ids), requests[i].options.max_new_tokens);
      for (const auto* other : {&many, &some, &slow}) {
        ASSERT_EQ((*other)[i].ids, alone.ids) << i;
        ASSERT_EQ((*other)[i].logits, alone.logits) << i;
      }
    }
  }
}

// Counts passes, and the rows of those over prompts.
class Counted final : public nn::LanguageModel {
 public:
  explicit Counted(std::unique_ptr<nn::LanguageModel> model) : model_(std::move(model)) {}
  std::vector<core::Parameter> parameters() override { return model_->parameters(); }
  nn::ModelShape shape() const override { return model_->shape(); }
  nn::Objective objective(const nn::TokenBatch& batch, std::optional<Key> key,
                          const nn::LossOptions& options) const override {
    return model_->objective(batch, key, options);
  }
  core::Array logits(const core::Array& ids, const nn::Context& context) const override {
    if (ids.size(1) > 1) rows.push_back(ids.size(0));
    return model_->logits(ids, context);
  }
  nn::HfName hf_name(std::string_view path) const override { return model_->hf_name(path); }
  Json hf_config() const override { return model_->hf_config(); }

  mutable std::vector<std::int64_t> rows;

 private:
  std::unique_ptr<nn::LanguageModel> model_;
};

// So many prompts of a length, no two alike.
std::vector<Request> prompts_of(std::int64_t n, std::size_t length) {
  std::vector<Request> out;
  for (std::int64_t i = 0; i < n; ++i) {
    Ids prompt(length, static_cast<std::int32_t>(length % kVocab));
    prompt[0] = static_cast<std::int32_t>(i);
    out.push_back({prompt, {.max_new_tokens = 3}});
  }
  return out;
}

TEST(Engine, ReadsShortPromptsTogether) {
  Counted model(long_model(true));
  std::vector<Request> all;
  const std::vector<std::pair<std::int64_t, std::size_t>> lengths = {{6, 12}, {2, 9},  {5, 17}, {3, 16},
                                                                     {2, 64}, {2, 65}, {9, 1}};
  for (const auto& [n, length] : lengths)
    for (auto& request : prompts_of(n, length)) all.push_back(request);
  all.push_back(all.front());  // comes by another
  std::swap(all[1], all[13]);
  const auto many = together(model, all, {.rows = 64}, 64);
  // Those of 12, 9, 16 and seven of 1, with which half would be filled up; of 17; of 64; each of 65.
  EXPECT_EQ(model.rows, (std::vector<std::int64_t>{18, 5, 2, 1, 1}));
  model.rows.clear();
  const auto few = together(model, all, {.rows = 64, .prompt_tokens = 40}, 64);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto alone = together(model, {all[i]}, {.rows = 1}, 1).front();
    EXPECT_EQ(many[i].logits, alone.logits) << i;
    EXPECT_EQ(few[i].logits, alone.logits) << i;
  }
}

TEST(Engine, CancelsATextThatIsReadWithAnother) {
  const auto model = long_model(false);
  const auto requests = prompts_of(3, 4);
  Engine engine(*model, {.rows = 4});
  std::map<Engine::Id, Generated> made;
  engine.add(requests[0], [&](std::int32_t) {
    engine.cancel(1);
    return true;
  });
  engine.add(requests[1]);
  engine.add(requests[2]);
  engine.add(requests[1]);  // waits for what the second reads
  while (engine.step()) {
  }
  for (auto& [id, text] : engine.take_done()) made[id] = text;
  ASSERT_EQ(made.size(), 4U);
  EXPECT_EQ(made[1].finish, Finish::Caller);
  for (const Engine::Id id : {0, 2})
    EXPECT_EQ(made[id].ids,
              generate(*model, requests[static_cast<std::size_t>(id)].prompt, {.max_new_tokens = 3}));
  EXPECT_EQ(made[3].ids, generate(*model, requests[1].prompt, {.max_new_tokens = 3}));
  EXPECT_EQ(engine.cache().pages(), 0);
}

// Logits of the last `n` positions of a text, without a cache.
std::vector<float> whole_pass(const nn::LanguageModel& model, const Ids& text, std::size_t n) {
  constexpr std::array<std::string_view, 2> names{"batch", "position"};
  const std::array<std::int64_t, 2> sizes{1, std::ssize(text)};
  const auto all = model.logits(core::from_data({names, sizes}, std::span<const std::int32_t>(text)), {});
  const auto values = all.to_vector<float>();
  const auto keep = static_cast<std::ptrdiff_t>(n * static_cast<std::size_t>(model.shape().vocab));
  return {values.end() - keep, values.end()};
}

void expect_whole_passes(const nn::LanguageModel& model, std::size_t requests) {
  const auto all = random_requests(model, requests);
  const auto seen = together(model, all, {}, 4);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto text = all[i].prompt;
    text.insert(text.end(), seen[i].ids.begin(), seen[i].ids.end() - 1);
    const auto expected = whole_pass(model, text, seen[i].ids.size());
    ASSERT_EQ(seen[i].logits.size(), expected.size());
    for (std::size_t first = 0; first < expected.size(); first += kVocab) {
      float largest = 1;  // what the rounding of a logit, a sum of products, goes by
      for (std::size_t j = first; j < first + kVocab; ++j) largest = std::max(largest, std::abs(expected[j]));
      for (std::size_t j = first; j < first + kVocab; ++j)
        ASSERT_NEAR(seen[i].logits[j], expected[j], 5e-6 * largest) << i << " " << j;
    }
  }
}

TEST(Engine, GivesTheLogitsOfTheTrainingPass) {
  for (const bool window : {false, true}) expect_whole_passes(*long_model(window), 16);
}

TEST(Engine, ReadsAPromptOnceForAllSamples) {
  const auto model = long_model(false);
  const Ids prompt(200, 7);
  Request request{prompt, {.max_new_tokens = 4}};
  Engine engine(*model, {.rows = 3});
  for (std::uint64_t sample = 0; sample < 5; ++sample) {
    request.options.sample = sample;
    engine.add(request);
  }
  EXPECT_EQ(engine.waiting(), 5);
  engine.step();
  EXPECT_EQ(engine.growing(), 3);
  // Two layers: three pages that all share, and each text's own copy of the last one, which grows.
  EXPECT_EQ(engine.cache().pages(), 2 * (4 + 3));
  while (engine.step()) {
  }
  const auto done = engine.take_done();
  ASSERT_EQ(done.size(), 5U);
  for (const auto& [id, text] : done) {
    request.options.sample = static_cast<std::uint64_t>(id);
    EXPECT_EQ(text.ids, generate(*model, prompt, request.options));
  }
  EXPECT_EQ(engine.cache().pages(), 0);
}

TEST(Engine, CancelsTextsWhereTheyAre) {
  const auto model = long_model(false);
  const Request request{{1, 2, 3}, {.max_new_tokens = 10}};
  const Request other{Ids(4000, 5), {.max_new_tokens = 10}};
  const auto free = generate(*model, request.prompt, request.options);
  Engine engine(*model, {.rows = 4, .prompt_tokens = 1});
  std::map<Engine::Id, Generated> made;
  const auto step = [&] {
    const bool going = engine.step();
    for (auto& [id, text] : engine.take_done()) made[id] = text;
    return going;
  };
  const auto first = engine.add(request), read = engine.add(other), same = engine.add(other);
  std::int64_t seen = 0;
  const auto stopped = engine.add(request, [&](std::int32_t) { return ++seen < 3; });
  const auto waits = engine.add(request);
  step();
  step();
  EXPECT_TRUE(engine.cancel(read));  // one that reads what another wants, too
  EXPECT_TRUE(engine.cancel(waits));
  EXPECT_FALSE(engine.cancel(waits));
  EXPECT_FALSE(engine.cancel(99));
  while (step()) {
  }
  EXPECT_FALSE(engine.cancel(first));
  EXPECT_EQ(made[first].ids, free);
  EXPECT_EQ(made[first].finish, Finish::Length);
  EXPECT_EQ(made[stopped].ids, Ids(free.begin(), free.begin() + 3));
  EXPECT_EQ(made[stopped].finish, Finish::Caller);
  EXPECT_TRUE(made[waits].ids.empty());
  EXPECT_EQ(made[waits].finish, Finish::Caller);
  EXPECT_EQ(made[read].finish, Finish::Caller);
  EXPECT_EQ(made[same].ids, generate(*model, other.prompt, other.options));
  EXPECT_EQ(engine.cache().pages(), 0);
}

TEST(Engine, EndsWhereTheContextIsFull) {
  const auto model = long_model(true);
  const auto made =
      generate_all(*model, {{Ids(4395, 3), {.max_new_tokens = 50}}, {{1}, {.max_new_tokens = 0}}});
  EXPECT_EQ(made[0].ids.size(), 5U);
  EXPECT_EQ(made[0].finish, Finish::Context);
  EXPECT_TRUE(made[1].ids.empty());
  EXPECT_EQ(made[1].finish, Finish::Length);
}

TEST(Engine, Errors) {
  const auto model = long_model(false);
  const auto error = [](const auto& body) {
    try {
      body();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(error([&] { Engine(*model, {.rows = 0}); }),
            "engine: 0 rows and 512 tokens of prompts a step\nhint: at least one of each");
  Engine engine(*model);
  EXPECT_EQ(
      error([&] { engine.add({}); }),
      "generate: the prompt is empty\nhint: give at least one token, such as the beginning-of-text token");
  EXPECT_EQ(
      error([&] { engine.add({{60}, {}}); }),
      "generate: id 60 is outside the vocabulary of 60\nhint: this tokenizer does not belong to this model");
}

}  // namespace
}  // namespace bora::infer
