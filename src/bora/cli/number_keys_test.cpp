// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The law of numbers: whatever number stands at a key, of a configuration or of a model that another program
// described, is taken as documented, or refused by an error that names the key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "bora/base/binder_state.h"
#include "bora/base/error.h"
#include "bora/models/test_builtin_models.h"
#include "bora/nn/language_model_interface.h"
#include "bora/optim/test_builtin_optimizers.h"
#include "bora/run/lm_config.h"
#include "bora/run/memory_estimate.h"

namespace bora::cli {
namespace {

using Row = Binder::State::Row;

// Every key of numbers.
std::vector<Row> numbers_of(run::LmConfig& config) {
  Binder::State state(Binder::Mode::Describe);
  state.out.emplace_back();
  state.out.back().node.kind = ConfigTree::Node::Kind::Map;
  Binder binder(state);
  config.bind(binder);
  std::erase_if(state.rows, [](const Row& row) {
    return row.type.find("integer") == row.type.npos && row.type.find("number") == row.type.npos &&
           !row.type.starts_with("duration");
  });
  return state.rows;
}

// The same as the reference page lists them, with the sections that are absent by default.
std::vector<Row> number_rows(const std::string& model) {
  run::LmConfig config;
  config.model.config = models::make_model_config(model);
  config.data.train_tokenizer.emplace();
  config.lora.emplace();
  config.optimizer.config.as<optim::AdamConfig>().clip_update_norm.emplace();
  config.optimizer->skip_bad_steps.emplace();
  config.optimizer->lr_schedule.exponent = 2;
  auto rows = numbers_of(config);
  // Keys of a second spelling, which the page has in tables of their own.
  for (const char* key : {"data.shuffle.io_block_size", "data.shuffle.window_blocks",
                          "trainer.profiler.num_steps", "trainer.train_batch_size[].value"})
    rows.push_back({key, "integer, from 1 to 2147483647", "", ""});
  for (const char* key : {"trainer.profiler.start_step", "trainer.train_batch_size[].start"})
    rows.push_back({key, "integer, from 0 to 2147483647", "", ""});
  rows.push_back({"trainer.tracker[].purge_step", "integer, at least 0", "", ""});
  return rows;
}

// The value inside what must be around it: "a.b[].c" is reached by a.b: [{c: value}].
std::pair<std::string, std::string> placed(const Row& row, const std::string& value) {
  std::string text = value;
  if (row.type.starts_with("list")) text = "[" + value + "]";
  if (row.type.starts_with("map")) text = "{data: " + value + "}";
  const auto list = row.key.find("[]."), map = row.key.find(".<name>.");
  if (list != row.key.npos)
    return {row.key.substr(0, list), "[{" + row.key.substr(list + 3) + ": " + text + "}]"};
  if (map != row.key.npos)
    return {row.key.substr(0, map), "{data: {" + row.key.substr(map + 8) + ": " + text + "}}"};
  return {row.key, text};
}

// Whether the range that the page gives takes the number.
bool documented(const std::string& type, double value) {
  const auto comma = type.find(", ");
  if (comma == type.npos) return std::isfinite(value);
  std::string words = type.substr(comma + 2);
  if (words.starts_with("each ")) words.erase(0, 5);
  double other = 0, least = -INFINITY, most = INFINITY;
  int read = 0;
  if (std::sscanf(words.c_str(), "%lf or %n", &other, &read) == 1 && read > 0) {
    if (value == other) return true;
    words.erase(0, static_cast<std::size_t>(read));
  }
  if (std::sscanf(words.c_str(), "from %lf to %lf", &least, &most) == 2)
    return value >= least && value <= most;
  if (std::sscanf(words.c_str(), "at least %lf and below %lf", &least, &most) == 2)
    return value >= least && value < most;
  if (std::sscanf(words.c_str(), "above %lf and at most %lf", &least, &most) == 2)
    return value > least && value <= most;
  if (std::sscanf(words.c_str(), "above %lf", &least) == 1) return value > least;
  if (std::sscanf(words.c_str(), "at least %lf", &least) == 1) return value >= least;
  ADD_FAILURE() << "a range that this test cannot read: " << words;
  return false;
}

// The numbers that --dry_run shows.
void expect_sensible(const run::LmConfig& config) {
  const auto& model = *config.model.config;
  const auto batch = config.trainer.batch_schedule().batch_size(0);
  const auto lanes = config.trainer.lanes.value_or(train::resolve_lanes(batch, model.seq_len(), 1));
  const auto sizes = run::estimate_sizes(model, {.vocab = 300, .batch = batch, .lanes = lanes});
  EXPECT_GE(sizes.parameters.all, 0);
  EXPECT_TRUE(std::isfinite(sizes.peak()) && sizes.peak() > 0) << sizes.peak();
}

using Overrides = std::vector<std::pair<std::string, std::string>>;

// Every row with every value, each beside `others`.
void try_values(const std::vector<Row>& rows, const Overrides& others) {
  for (const auto& row : rows) {
    for (const std::string value : {"-1", "0", "1", "1e18", "1000000000000000000", "2147483648", ".inf",
                                    "-.inf", "nan", ".nan", "\"\""}) {
      SCOPED_TRACE(row.key + " (" + row.type + ") = " + value);
      const auto [key, text] = placed(row, value);
      ConfigTree tree;
      for (const auto& [other, at] : others) tree.override_value(other, at);
      if (row.key.starts_with("trainer.tracker[]"))
        tree.override_value(key, "[{type: tensorboard, " + text.substr(2));
      else
        tree.override_value(key, text);
      run::LmConfig config;
      const auto problems = read_config(tree, config);
      const bool named = std::any_of(problems.begin(), problems.end(),
                                     [&k = key](const auto& p) { return p.key.starts_with(k); });
      char* end = nullptr;
      const double number = value.find("n") == value.npos ? std::strtod(value.c_str(), &end) : NAN;
      const bool is_number = end != nullptr && *end == '\0';
      EXPECT_TRUE(named || (is_number && documented(row.type, number)));
      if (!problems.empty()) continue;
      EXPECT_NO_THROW(expect_sensible(config));
    }
  }
}

// Every registered type: one that is added is tried without a line here.
class NumberKeys : public testing::TestWithParam<std::string> {};

TEST_P(NumberKeys, AreTakenAsDocumentedOrRefusedByName) {
  const auto rows = number_rows(GetParam());
  EXPECT_GT(rows.size(), 70u);
  try_values(rows, {{"model.type", GetParam()}});
}

const auto by_name = [](const auto& parameter) { return parameter.param; };
INSTANTIATE_TEST_SUITE_P(OfEveryModel, NumberKeys, testing::ValuesIn(models::builtin_model_names()), by_name);

TEST(NumberKeysOfOptimizers, AreTakenAsDocumentedOrRefusedByName) {
  for (const auto& type : optim::optimizer_types().names()) {
    run::LmConfig config;
    config.optimizer = {type, optim::optimizer_types().find(type)->config};
    auto rows = numbers_of(config);
    std::erase_if(rows, [](const Row& row) { return !row.key.starts_with("optimizer."); });
    EXPECT_FALSE(rows.empty());
    try_values(rows, {{"model.type", "gpt2"}, {"optimizer.type", type}});
  }
}

// Those that the type has and that may be left out.
std::map<std::string, std::string> numbers_of_rope(const std::string& type) {
  std::map<std::string, std::string> out;
  if (type == "yarn") out = {{"rope.mscale", "1"}, {"rope.mscale_all_dim", "1"}};
  if (type == "longrope") out = {{"rope.short_factor", "[1, 1, 1, 1]"}, {"rope.long_factor", "[2, 2, 2, 2]"}};
  if (type == "yarn" || type == "longrope") out["rope.attention_factor"] = "1";
  if (type != "default" && type != "linear")
    out["rope.original_max_position_embeddings"] = type == "dynamic" ? "64" : "32";
  return out;
}

// A small model of the type, in which whatever number may be left out is there.
std::shared_ptr<models::ModelConfig> small_config(const std::string& type, const std::string& rope) {
  const std::map<std::string, std::string> sizes = {{"seq_len", "64"},
                                                    {"max_length", "64"},
                                                    {"max_source_positions", "50"},
                                                    {"num_mel_bins", "8"},
                                                    {"d_model", "16"},
                                                    {"encoder_attention_heads", "4"},
                                                    {"decoder_attention_heads", "4"},
                                                    {"hidden_dim", "32"},
                                                    {"intermediate_dim", "48"},
                                                    {"num_layers", "2"},
                                                    {"num_heads", "4"},
                                                    {"num_kv_heads", "2"},
                                                    {"head_dim", "8"},
                                                    {"rotary_dim", "4"},
                                                    {"sliding_window", "16"},
                                                    {"n_routed_experts", "4"},
                                                    {"num_experts_per_tok", "2"},
                                                    {"moe_intermediate_size", "16"},
                                                    {"shared_expert_intermediate_size", "16"},
                                                    {"mlp_only_layers", "[1]"},
                                                    {"no_rope_layers", "[1, 0]"},
                                                    {"clip_qkv", "8"},
                                                    {"softmax_scale", "0.5"},
                                                    {"final_logit_softcapping", "30"},
                                                    {"rotary_pct", "1"}};
  const auto of_rope = numbers_of_rope(rope);
  run::LmConfig config;
  config.model.config = models::make_model_config(type);
  ConfigTree tree;
  tree.override_value("model.type", type);
  for (const auto& row : numbers_of(config)) {
    if (!row.key.starts_with("model.")) continue;
    if (const auto found = sizes.find(row.key.substr(6)); found != sizes.end())
      tree.override_value(row.key, found->second);
    if (row.key == "model.rope.factor") tree.override_value("model.rope.type", rope);
    if (const auto found = of_rope.find(row.key.substr(6)); found != of_rope.end())
      tree.override_value(row.key, found->second);
  }
  for (const auto& problem : read_config(tree, config)) ADD_FAILURE() << problem.key << problem.message;
  return config.model.config;
}

Json small_hf(const std::string& type, const std::string& rope = "default") {
  return models::model_types().find(type)->make(*small_config(type, rope), 300, Key(1))->hf_config();
}

// What is wrong with it; empty: nothing, and its sizes are sensible.
std::string refusal(const Json& described) {
  try {
    const auto config = models::model_config_from_hf(described, "dir/config.json");
    const auto vocab = models::vocab_size_from_hf(described, "dir/config.json");
    EXPECT_GT(config->parameter_count(vocab), 0);
    const auto shape = config->shape(vocab);
    for (const auto size : {shape.layers, shape.hidden, shape.heads, shape.kv_heads, shape.head_dim,
                            shape.mlp, shape.vocab, shape.seq_len})
      EXPECT_GT(size, 0);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

using Refusal = std::string (*)(const Json&);

// What may be 0, and what may be above 10^9; nothing may be negative, and no text is a number.
const std::set<std::string> kMayBeZero = {
    // a deviation of 0, a loss that does not count, no dropout, no scaling, the first layer
    "initializer_range",
    "init_std",
    "router_aux_loss_coef",
    "embd_pdrop",
    "emb_pdrop",
    "resid_pdrop",
    "attn_pdrop",
    "attention_dropout",
    "hidden_dropout",
    "dropout",
    "activation_dropout",
    "router_jitter_noise",
    "mscale",
    "mscale_all_dim",
    "max_window_layers",
    "mlp_only_layers",
    "no_rope_layers"};
const std::set<std::string> kMayBeHuge = {
    // numbers that no memory is asked for
    "initializer_range", "init_std", "router_aux_loss_coef", "rms_norm_eps", "layer_norm_eps",
    "layer_norm_epsilon", "rope_theta", "rotary_emb_base", "rope_local_base_freq", "factor",
    "low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim",
    "attention_factor", "short_factor", "long_factor", "clip_qkv", "softmax_scale", "query_pre_attn_scalar",
    "attn_logit_softcapping", "final_logit_softcapping", "embedding_multiplier", "attention_multiplier",
    "residual_multiplier", "logits_scaling",
    // layers that there are none of: no window, no difference
    "max_window_layers", "mlp_only_layers"};

// Every number of `part`, a part of `whole`, in turn; the key of those in a list is the list's.
void try_numbers(Json& whole, Json& part, const std::string& list, Refusal refusal_of) {
  const Json before = part;
  for (const auto& item : before.items()) {
    const std::string key = part.is_array() ? list : item.key();
    Json& place = part.is_array() ? part[std::stoul(item.key())] : part[key];
    if (item.value().is_structured()) try_numbers(whole, place, key, refusal_of);
    if (!item.value().is_number()) continue;
    for (const Json& value : {Json(-1), Json(0), Json(-0.5), Json(1e18), Json(1000000000000000000),
                              Json(2147483648), Json(1e300), Json(18446744073709551615u), Json("4"),
                              Json("nan"), Json(".inf"), Json(true), Json({1}), Json(Json::object())}) {
      SCOPED_TRACE(key + " = " + value.dump());
      place = value;
      const auto words = refusal_of(whole);
      const double number = value.is_number() ? value.get<double>() : -1;
      if (words.empty()) {
        EXPECT_GE(number, 0) << "taken";
        EXPECT_TRUE(number > 0 || kMayBeZero.contains(key)) << "taken";
        EXPECT_TRUE(number < 1e9 || kMayBeHuge.contains(key)) << "taken";
      } else {
        EXPECT_THAT(words, testing::HasSubstr(key));
        EXPECT_THAT(words, testing::HasSubstr("dir/config.json"));
        EXPECT_THAT(words, testing::ContainsRegex("must (be|have|divide)|should be|does not divide"));
      }
    }
    place = item.value();
    if (part.is_array()) continue;
    part.erase(key);
    const auto words = refusal_of(whole);  // the default of transformers
    EXPECT_TRUE(words.empty() || words.find("must") != words.npos || words.find(key) != words.npos) << words;
    part[key] = item.value();
  }
}

class HuggingFaceNumbers : public testing::TestWithParam<std::string> {};

TEST_P(HuggingFaceNumbers, AreTakenOrRefusedByNameAndRange) {
  for (const std::string rope : {"default", "linear", "dynamic", "llama3", "yarn", "longrope"}) {
    if (GetParam() == "phi3" && rope == "yarn") continue;  // its older files call longrope so
    SCOPED_TRACE(rope);
    // In the spellings of transformers 4 and 5, one at a time: a file with both says everything twice.
    Json older = small_hf(GetParam(), rope), newer = older;
    ASSERT_EQ(refusal(older), "") << older;
    older.erase("rope_parameters");
    for (const char* key : {"rope_theta", "rotary_emb_base", "rope_local_base_freq", "rope_scaling"})
      if (newer.contains("rope_parameters")) newer.erase(key);
    for (Json* json : {&older, &newer}) {
      if (GetParam() == "gpt_oss" && rope == "default" && json == &older) {  // plain to transformers 4 alone
        EXPECT_EQ(refusal(*json).find(
                      "dir/config.json: rope_scaling is null: plain RoPE to transformers 4, yarn to 5"),
                  0u);
        continue;
      }
      ASSERT_EQ(refusal(*json), "") << *json;
      try_numbers(*json, *json, "", refusal);
      if (!json->contains("rope_parameters") && !json->contains("rope_scaling")) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryModel, HuggingFaceNumbers, testing::ValuesIn(models::builtin_model_names()),
                         by_name);

// What other programs write where there is no number.
TEST(HuggingFaceNumbersOfFiles, AreFinite) {
  for (const std::string text : {"NaN", "nan", "Infinity", "-Infinity", "1e400", "0x10", "01", "1_000"}) {
    try {
      (void)parse_json("{\"hidden_size\": " + text + "}", "dir/config.json");
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr("dir/config.json: line 1, column "));
    }
  }
}

TEST(HuggingFaceProblems, AreToldAllAtOnceByTheirNames) {
  auto json = small_hf("llama");
  json["num_key_value_heads"] = 0;
  json["head_dim"] = -8;
  json["rms_norm_eps"] = -1;
  json["rope_theta"] = 0;
  EXPECT_EQ(refusal(json),
            "dir/config.json has 4 problems; nothing was started.\n"
            "  dir/config.json   num_key_value_heads = 0  must be from 1 to 2147483647\n"
            "  dir/config.json   head_dim = -8            must be from 1 to 2147483647\n"
            "  dir/config.json   rms_norm_eps = -1        must be from 1e-30 to 1000\n"
            "  dir/config.json   rope_theta = 0           must be above 0");
  json = small_hf("llama");
  json["num_key_value_heads"] = 3;
  EXPECT_EQ(
      refusal(json),
      "dir/config.json has 1 problem; nothing was started.\n"
      "  dir/config.json   num_key_value_heads = 3  must divide num_attention_heads = 4; nearest: 2 or 4");
  json["num_key_value_heads"] = 2;
  json["vocab_size"] = 0;
  EXPECT_EQ(refusal(json), "dir/config.json: vocab_size = 0 must be from 1 to 2147483647");
}

// The law holds for what single ranges cannot say.
TEST(LmConfigSizes, ProductsAreChecked) {
  const auto words = [](const std::vector<std::pair<std::string, std::string>>& overrides) {
    ConfigTree tree;
    for (const auto& [key, value] : overrides) tree.override_value(key, value);
    run::LmConfig config;
    std::string out;
    for (const auto& p : read_config(tree, config)) out += p.key + ": " + p.message + "\n";
    return out;
  };
  EXPECT_THAT(
      words({{"model.hidden_dim", "2000000000"}}),
      testing::HasSubstr("model.hidden_dim = 2000000000: is too large: model.hidden_dim = 2000000000 and "
                         "model.num_layers = 32 make"));
  EXPECT_EQ(words({{"model.hidden_dim", "1000000000003"}, {"model.num_heads", "2"}}),
            "model.hidden_dim = 1000000000003: must be from 1 to 2147483647\n");
  EXPECT_THAT(
      words({{"model.type", "gpt2"}, {"model.mlp_scale", "2000000000"}}),
      testing::HasSubstr("model.mlp_scale = 2000000000: times model.hidden_dim = 768 must be from 1 to "
                         "2147483647"));
  EXPECT_THAT(words({{"model.head_dim", "2000000000"}}),
              testing::HasSubstr("model.num_heads: times model.head_dim = 2000000000 must be from 1 to"));
  EXPECT_THAT(
      words({{"trainer.train_batch_size", "2147483647"}}),
      testing::HasSubstr("trainer.train_batch_size = 2147483647: times model.seq_len = 2048 in 1 lane "
                         "makes 4.4e+12 tokens in each; at most 2147483647 can be computed together"));
}

}  // namespace
}  // namespace bora::cli
