// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Models that are written as GGUF and read again: the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/checkpoint/gguf_header.h"
#include "bora/core/host_view.h"
#include "bora/models/add_model.h"
#include "bora/run/gguf_export.h"
#include "bora/run/gguf_families.h"
#include "bora/run/gguf_import.h"
#include "bora/run/models.h"
#include "bora/run/open_model.h"
#include "bora/tokenize/train/bpe_trainer.h"

namespace bora::run {
namespace {

using checkpoint::GgufContent;
using checkpoint::GgufType;
using checkpoint::GgufValue;
using ::testing::HasSubstr;

constexpr const char* kPlain = R"({"type":"ByteLevel","add_prefix_space":false})";

// Byte-level BPE of three pieces, a beginning and an end.
Tokenizer small_tokenizer(const std::string& rule = kPlain, const std::string& post = "null") {
  return Tokenizer::from_json(
      R"({"version":"1.0","added_tokens":[{"id":3,"content":"<s>","single_word":false,"lstrip":false,)"
      R"("rstrip":false,"normalized":false,"special":true},{"id":4,"content":"ba","single_word":false,)"
      R"("lstrip":false,"rstrip":false,"normalized":false,"special":false},{"id":5,"content":"</s>",)"
      R"("single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],)"
      R"("normalizer":null,"pre_tokenizer":)" +
          rule + R"(,"post_processor":)" + post +
          R"(,"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0,"b":1,)"
          R"("ab":2},"merges":[["a","b"]]}})",
      R"({"bos_token":"<s>","eos_token":"</s>","chat_template":"{{ messages }}"})");
}

std::string import_path() { return testing::TempDir() + "bora_gguf_import_test.gguf"; }

Json config_of(const std::string& name, const Json& changes) {
  auto json = parse_json(read_text(BORA_SOURCE_DIR "/tests/parity/models/" + name + "/config.json"), name);
  if (changes.is_object()) json.update(changes);
  return json;
}

std::unique_ptr<nn::LanguageModel> model_of(const Json& json) {
  const auto config = models::model_config_from_hf(json, "config.json");
  auto model = models::make_model(*config, models::vocab_size_from_hf(json, "config.json"), Key{});
  // What begins as ones and zeros would hide what is exchanged.
  float x = 0;
  for (auto& p : model->parameters()) {
    auto values = p.array->to_vector<float>();
    for (auto& value : values) value = std::sin(x += 1);
    const core::HostView into(*p.array, core::HostView::Use::write);
    std::copy(values.begin(), values.end(), into.floats().begin());
  }
  return model;
}

struct Case {
  const char* name;
  Json changes;
};

Json yarn() {
  return {{"rope_type", "yarn"},
          {"factor", 2.5},
          {"beta_fast", 16.0},
          {"beta_slow", 2.0},
          {"original_max_position_embeddings", 16}};
}

std::vector<Case> cases() {
  const Json no_window = {
      {"sliding_window", nullptr}, {"use_sliding_window", false}, {"layer_types", nullptr}};
  auto smollm3 = no_window;
  smollm3["no_rope_layers"] = {1, 1};
  const Json olmo3 = {{"rope_scaling", nullptr}, {"layer_types", {"sliding_attention", "sliding_attention"}}};
  auto olmo3_scaled = olmo3;
  olmo3_scaled["rope_scaling"] = yarn();
  return {{"tiny-gpt2", {}},
          {"tiny-gpt2", {{"tie_word_embeddings", false}}},
          {"tiny-llama-gqa-rope3", {}},
          {"tiny-llama-tied", {}},
          {"tiny-llama-tied", {{"rope_scaling", {{"rope_type", "linear"}, {"factor", 2.5}}}}},
          {"tiny-llama-tied", {{"rope_scaling", yarn()}}},
          {"tiny-llama-tied", {{"attention_bias", true}, {"mlp_bias", true}}},
          {"tiny-gpt-neox", {}},
          {"tiny-gpt-neox", {{"rope_scaling", {{"rope_type", "linear"}, {"factor", 2.5}}}}},
          {"tiny-gpt-neox", {{"hidden_act", "gelu_new"}}},
          {"tiny-gpt-neox",
           {{"use_parallel_residual", false}, {"rotary_pct", 1.0}, {"partial_rotary_factor", 1.0}}},
          {"tiny-mpt", {{"attn_config", {{"clip_qkv", nullptr}}}}},
          {"tiny-mpt", {{"attn_config", {{"clip_qkv", 1.5}}}}},
          {"tiny-phi3", {{"sliding_window", nullptr}}},
          {"tiny-phi3", {{"sliding_window", nullptr}, {"rope_scaling", nullptr}}},
          {"tiny-mistral", {{"sliding_window", nullptr}}},
          {"tiny-mixtral", {}},
          {"tiny-qwen2", no_window},
          {"tiny-qwen3", {}},
          {"tiny-qwen2-moe", {{"mlp_only_layers", Json::array()}}},
          {"tiny-qwen3-moe", {{"mlp_only_layers", Json::array()}}},
          {"tiny-olmo2", {}},
          {"tiny-olmo3", olmo3},
          {"tiny-olmo3", olmo3_scaled},
          {"tiny-olmoe", {{"clip_qkv", nullptr}}},
          {"tiny-gpt-oss", {}},
          {"tiny-gpt-oss", {{"rope_scaling", nullptr}, {"rope_parameters", {{"rope_type", "default"}}}}},
          {"tiny-gpt-oss", {{"rope_scaling", yarn()}}},
          {"tiny-granite", {}},
          {"tiny-smollm3", smollm3},
          {"tiny-gemma", {}},
          {"tiny-gemma2", {{"query_pre_attn_scalar", 6}}},
          {"tiny-gemma3",
           {{"query_pre_attn_scalar", 6},
            {"final_logit_softcapping", nullptr},
            {"rope_local_base_freq", 10000.0},
            {"layer_types", {"sliding_attention", "sliding_attention"}}}}};
}

// Every bit, but of norms that are stored with one added: the sums' bits.
void expect_same(nn::LanguageModel& ours, nn::LanguageModel& theirs, bool one_more) {
  const auto a = ours.parameters(), b = theirs.parameters();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].path, b[i].path);
    auto x = a[i].array->to_vector<float>(), y = b[i].array->to_vector<float>();
    if (one_more && a[i].path.find("norm") != std::string::npos)
      for (auto* values : {&x, &y})
        for (auto& value : *values) value += 1;
    EXPECT_EQ(x, y) << a[i].path;
  }
}

TEST(GgufImport, EveryFamilyComesBack) {
  std::set<std::string> types;
  for (const auto& [name, changes] : cases()) {
    SCOPED_TRACE(std::string(name) + " " + changes.dump());
    const auto model = model_of(config_of(name, changes));
    const auto type = model->hf_config()["model_type"].get<std::string>();
    types.insert(type);
    export_gguf(*model, small_tokenizer(), Json::object(), import_path(), GgufType::f32);
    const auto back = import_gguf(import_path());
    auto ours = model->hf_config(), theirs = back.model->hf_config();
    // How weights are drawn and experts are balanced is of no meaning for a file that is read by llama.cpp.
    for (const char* key : {"initializer_range", "router_aux_loss_coef", "attn_pdrop", "embd_pdrop",
                            "resid_pdrop", "no_rope_layer_interval", "rotary_pct", "partial_rotary_factor",
                            "output_router_logits", "max_window_layers", "sliding_window"})
      for (auto* json : {&ours, &theirs})
        if (std::string_view(key) != "sliding_window" || !(type.starts_with("gemma") || type == "olmo3"))
          json->erase(key);
    EXPECT_EQ(ours, theirs);
    expect_same(*model, *back.model, gguf_family(type)->adds_one);
    const auto first = read_text(import_path());
    export_gguf(*back.model, *back.tokenizer, back.generation, import_path(), GgufType::f32);
    EXPECT_TRUE(read_text(import_path()) == first) << "the file once more, byte by byte";
  }
  EXPECT_EQ(types.size(), 20U) << "every type that is written";
}

// bf16 comes back rounded as bf16 is, q8_0 by half a step of a block and the f16 of its scale.
TEST(GgufImport, Bf16AndQ8) {
  for (const auto type : {GgufType::bf16, GgufType::q8_0}) {
    const auto model = model_of(config_of("tiny-llama-tied", {{"hidden_size", 32}, {"head_dim", 8}}));
    export_gguf(*model, small_tokenizer(), Json::object(), import_path(), type);
    const auto once = import_gguf(import_path());
    export_gguf(*once.model, small_tokenizer(), Json::object(), import_path(), GgufType::f32);
    const auto twice = import_gguf(import_path());
    expect_same(*once.model, *twice.model, false);
    const auto ours = model->parameters(), theirs = once.model->parameters();
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const auto x = ours[i].array->to_vector<float>(), y = theirs[i].array->to_vector<float>();
      for (std::size_t j = 0; j < x.size(); ++j)
        ASSERT_NEAR(x[j], y[j], type == GgufType::bf16 ? std::abs(x[j]) / 256 : 1.0 / 254 + 1.0 / 2048)
            << ours[i].path;
    }
  }
}

TEST(GgufImport, Tokenizer) {
  const std::string llama =
      R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|)"
      R"([^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},)"
      R"("behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,)"
      R"("use_regex":false}]})";
  const std::string begins =
      R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A",)"
      R"("type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],)"
      R"("special_tokens":{"<s>":{"id":"<s>","ids":[3],"tokens":["<s>"]}}})";
  const std::string gpt4o =
      R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"[^\\r\\n\\p{L}\\p{N}]?)"
      R"([\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
      R"([^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*)"
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},)"
      R"("behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,)"
      R"("use_regex":false}]})";
  for (const auto& tokenizer : {small_tokenizer(), small_tokenizer(llama, begins), small_tokenizer(gpt4o)}) {
    const auto model = model_of(config_of("tiny-gpt2", {}));
    export_gguf(*model, tokenizer, {{"eos_token_id", {5, 3}}}, import_path(), GgufType::f32);
    const auto back = import_gguf(import_path());
    ASSERT_TRUE(back.tokenizer);
    for (const char* text : {"abba<s>aab</s>", "ab", ""})
      EXPECT_EQ(back.tokenizer->encode(text).ids, tokenizer.encode(text).ids) << text;
    EXPECT_EQ(back.tokenizer->bos_id(), 3);
    EXPECT_EQ(back.tokenizer->eos_id(), 5);
    EXPECT_TRUE(back.tokenizer->is_special(5));
    EXPECT_FALSE(back.tokenizer->is_special(4));
    EXPECT_EQ(back.generation, (Json{{"bos_token_id", 3}, {"eos_token_id", 5}}));
    bool has_template = false;
    for (const auto& [name, text] : back.tokenizer->files())
      has_template |= name == "chat_template.jinja" && text == "{{ messages }}";
    EXPECT_TRUE(has_template);
  }
}

// Ids of special tokens are those of the file, wherever they stand: first, as those that are trained, last, or between.
TEST(GgufImport, SpecialTokensKeepTheirPlaces) {
  const std::string text = "Once upon a time there was a time, and once there was none. Hi there, hi!";
  const auto once = [&text, sent = false]() mutable -> std::optional<std::string_view> {
    return std::exchange(sent, true) ? std::nullopt : std::optional<std::string_view>(text);
  };
  const auto trained = train_bpe(once, {.vocab_size = 290});
  Json json;
  for (const auto& [name, content] : trained.tokenizer.files())
    if (name == "tokenizer.json") json = parse_json(content, name);
  const auto size = json["model"]["vocab"].size();
  const auto add = [](Json& to, const char* content, std::size_t id, bool special) {
    to["added_tokens"].push_back({{"id", id},
                                  {"content", content},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", false},
                                  {"normalized", false},
                                  {"special", special}});
  };
  Json behind = json, apart = json;
  add(behind, "<|end|>", size, true);
  add(behind, "time", size + 1, false);
  apart["model"]["vocab"]["<|end|>"] = size + 7;  // ids between stand for nothing
  add(apart, "<|end|>", size + 7, true);
  for (const auto& file : {json, behind, apart}) {
    const auto tokenizer = Tokenizer::from_json(file.dump());
    const auto model = models::make_model(
        *models::model_config_from_hf(config_of("tiny-llama-tied", {}), "config.json"), size + 9, Key{});
    testing::internal::CaptureStderr();
    export_gguf(*model, tokenizer, Json::object(), import_path(), GgufType::f32);
    const auto back = import_gguf(import_path());
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    ASSERT_TRUE(back.tokenizer);
    EXPECT_EQ(back.tokenizer->fingerprint(), tokenizer.fingerprint());
    EXPECT_EQ(back.tokenizer->vocab_size(), tokenizer.vocab_size());
    EXPECT_EQ(back.tokenizer->id_of("<|endoftext|>"), 0);
    for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
      EXPECT_EQ(back.tokenizer->token(id), tokenizer.token(id)) << id;
      EXPECT_EQ(back.tokenizer->is_special(id), tokenizer.is_special(id)) << id;
    }
    for (const auto& said : {text, std::string("Hi<|endoftext|>x<|end|>times"), std::string("<|end|>")})
      EXPECT_EQ(back.tokenizer->encode(said).ids, tokenizer.encode(said).ids) << said;
  }
}

// ---- what is refused

class ChangedModel {
 public:
  explicit ChangedModel(const std::string& name = "tiny-llama-tied", const std::string& type = "llama") {
    const auto model = model_of(config_of(name, {}));
    export_gguf(*model, small_tokenizer(), Json::object(), import_path(), GgufType::f32);
    const checkpoint::GgufFile file(import_path());
    for (const auto& tensor : file.names())
      content_.tensors.push_back({tensor, GgufType::f32, file.find(tensor)->shape,
                                  [values = file.floats(tensor)] { return values; }});
    GgufDraft draft{type};
    gguf_family(type)->describe(model->hf_config(), draft);
    content_.metadata = draft.content.metadata;
    content_.metadata.emplace_back("general.architecture", type);
  }
  ChangedModel& set(const std::string& key, GgufValue value) {
    unset(key);
    content_.metadata.emplace_back(key, std::move(value));
    return *this;
  }
  ChangedModel& unset(const std::string& key) {
    std::erase_if(content_.metadata, [&](const auto& pair) { return pair.first == key; });
    return *this;
  }
  ChangedModel& without(const std::string& tensor) {
    std::erase_if(content_.tensors, [&](const auto& t) { return t.name == tensor; });
    return *this;
  }
  ChangedModel& with(const std::string& tensor, std::vector<std::int64_t> shape, std::vector<float> values) {
    without(tensor);
    content_.tensors.push_back({tensor, GgufType::f32, std::move(shape), [values] { return values; }});
    return *this;
  }
  // A head with the embedding's values, times `scale`.
  ChangedModel& with_head(float scale) {
    const auto found = std::find_if(content_.tensors.begin(), content_.tensors.end(),
                                    [](const auto& t) { return t.name == "token_embd.weight"; });
    auto values = found->values();
    for (auto& value : values) value *= scale;
    return with("output.weight", found->shape, values);
  }
  std::string error(ErrorKind kind) const {
    checkpoint::write_gguf(import_path(), content_);
    try {
      import_gguf(import_path());
      return "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), kind) << e.what();
      return e.what();
    }
  }

 private:
  GgufContent content_;
};

TEST(GgufImport, RefusesWhatItDoesNotKnow) {
  const auto unsupported = ErrorKind::Unsupported;
  EXPECT_EQ(ChangedModel().error(unsupported), "no error") << "a file without a tokenizer";
  EXPECT_THAT(
      ChangedModel().set("general.architecture", std::string("bert")).error(unsupported),
      HasSubstr(import_path() + ": GGUF: general.architecture is \"bert\"; gpt2, gptneox, mpt, llama, "));
  EXPECT_THAT(
      ChangedModel().set("llama.odd", 3U).error(unsupported),
      HasSubstr("\"llama.odd\" is 3, and Bora does not know what that means for the model\nhint: import"));
  EXPECT_THAT(
      ChangedModel().set("llama.rope.scaling.type", std::string("longrope")).error(unsupported),
      HasSubstr(
          "llama.rope.scaling.type is \"longrope\"; none and linear are read, and yarn where it is written"));
  EXPECT_THAT(ChangedModel().set("llama.rope.dimension_count", 2U).error(unsupported),
              HasSubstr("llama.rope.dimension_count is 2, but Bora computes "));
  EXPECT_THAT(ChangedModel().with("rope_freqs.weight", {1}, {2}).error(unsupported),
              HasSubstr("tensor rope_freqs.weight has 1 values, but heads of "));
  EXPECT_THAT(
      ChangedModel().with("blk.0.odd", {1}, {2}).error(unsupported),
      HasSubstr(
          "the tensors are not those of a model of type llama\n1 without a place in the model:\n  blk.0.odd "
          "[1]\nhint: "));
}

// Some files of models whose head is the embedding have it twice.
TEST(GgufImport, TakesTheEmbeddingAsHead) {
  for (const float factor : {1, 2})  // a head of its own, too
    EXPECT_EQ(ChangedModel("tiny-gpt2", "gpt2").with_head(factor).error(ErrorKind::Io), "no error");
  EXPECT_EQ(ChangedModel("tiny-gemma", "gemma").with_head(1).error(ErrorKind::Io), "no error");
  EXPECT_THAT(ChangedModel("tiny-gemma", "gemma").with_head(2).error(ErrorKind::Unsupported),
              HasSubstr("1 without a place in the model:\n  output.weight [20, 12]"));
}

TEST(GgufImport, RefusesWhatIsWrong) {
  const auto corrupt = ErrorKind::Corruption;
  EXPECT_THAT(ChangedModel().unset("general.architecture").error(corrupt),
              HasSubstr("general.architecture is missing, but must name the model"));
  EXPECT_THAT(ChangedModel().unset("llama.block_count").error(corrupt),
              HasSubstr("llama.block_count is missing, but must be a whole number"));
  EXPECT_THAT(ChangedModel().set("llama.block_count", std::string("x")).error(corrupt),
              HasSubstr("llama.block_count is \"x\", but must be a whole number"));
  EXPECT_THAT(ChangedModel().set("llama.vocab_size", 7U).error(corrupt),
              HasSubstr("llama.vocab_size is 7, but there are 20 rows of token_embd.weight"));
  EXPECT_THAT(ChangedModel().set("llama.embedding_length", 7U).error(corrupt),
              HasSubstr("llama.embedding_length is 7, but there are "));
  EXPECT_THAT(ChangedModel().set("llama.block_count", 2000000000U).error(corrupt),
              HasSubstr("llama.block_count is 2000000000, but the file has "));
  EXPECT_THAT(ChangedModel().without("token_embd.weight").error(corrupt),
              HasSubstr("tensor token_embd.weight is missing"));
  EXPECT_THAT(ChangedModel().without("blk.0.attn_q.weight").error(ErrorKind::NotFound),
              HasSubstr("1 missing:\n  blk.0.attn_q.weight ["));
  EXPECT_THAT(ChangedModel().with("output_norm.weight", {2}, {1, 2}).error(corrupt),
              HasSubstr("1 of another shape:\n  output_norm.weight is [2] but the model's "));
}

TEST(GgufImport, RefusesTokenizers) {
  const auto unsupported = ErrorKind::Unsupported, corrupt = ErrorKind::Corruption;
  const auto with = [](const std::string& key, GgufValue value) {
    ChangedModel out;
    out.set("tokenizer.ggml.model", std::string("gpt2"))
        .set("tokenizer.ggml.pre", std::string("gpt-2"))
        .set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab"})
        .set("tokenizer.ggml.merges", std::vector<std::string>{"a b"})
        .set(key, std::move(value));
    return out;
  };
  EXPECT_EQ(with("tokenizer.ggml.bos_token_id", 1U).error(corrupt), "no error");
  EXPECT_THAT(
      with("tokenizer.ggml.model", std::string("bert")).error(unsupported),
      HasSubstr(
          "tokenizer.ggml.model is \"bert\"; gpt2, byte-level BPE, and llama, BPE by scores, are read"));
  EXPECT_THAT(with("tokenizer.ggml.pre", std::string("odd")).error(unsupported),
              HasSubstr("tokenizer.ggml.pre is \"odd\"; gpt-2, "));
  EXPECT_THAT(with("tokenizer.ggml.tokens", 3U).error(corrupt),
              HasSubstr("tokenizer.ggml.tokens is 3, but must be a list of texts"));
  EXPECT_THAT(with("tokenizer.ggml.merges", std::vector<std::string>{"ab"}).error(corrupt),
              HasSubstr("tokenizer.ggml.merges has \"ab\" at 0, but must be pairs"));
  EXPECT_THAT(with("tokenizer.ggml.token_type", std::vector<std::int32_t>{1}).error(corrupt),
              HasSubstr("tokenizer.ggml.token_type has 1 entries, but there are 3 tokens"));
  EXPECT_THAT(with("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 6, 1}).error(unsupported),
              HasSubstr("tokenizer.ggml.token_type is 6 for token 1 (\"b\")"));
  EXPECT_THAT(with("tokenizer.ggml.bos_token_id", 9U).error(corrupt),
              HasSubstr("tokenizer.ggml.bos_token_id is 9, but there are 3 tokens"));
  std::vector<std::string> many = {"a", "b", "ab"};
  while (many.size() < 21) many.push_back("x" + std::to_string(many.size()));
  EXPECT_THAT(with("tokenizer.ggml.tokens", many).error(corrupt),
              HasSubstr("tokenizer.ggml.tokens has 21 tokens, but token_embd.weight 20 rows"));
  EXPECT_THAT(with("tokenizer.ggml.add_bos_token", true).error(corrupt),
              HasSubstr("tokenizer.ggml.bos_token_id is missing, though texts get that token"));
  EXPECT_THAT(with("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b\xff", "ab"}).error(corrupt),
              HasSubstr("token 1 is no UTF-8"));
}

// Wherever a model is opened to be used.
TEST(GgufImport, IsOpenedAsItIs) {
  const auto model = model_of(config_of("tiny-llama-tied", {}));
  export_gguf(*model, small_tokenizer(), Json::object(), import_path(), GgufType::f32);
  const auto opened = open_model(import_path());
  expect_same(*model, *opened.model, false);
  EXPECT_EQ(opened.require_tokenizer().encode("ab").ids, small_tokenizer().encode("ab").ids);
  EXPECT_EQ(opened.generation["eos_token_id"], 5);
  EXPECT_FALSE(opened.prepend_bos);
}

TEST(GgufImport, KnowsItsFiles) {
  ChangedModel().error(ErrorKind::Io);
  EXPECT_TRUE(checkpoint::is_gguf(import_path()));
  EXPECT_FALSE(checkpoint::is_gguf(testing::TempDir()));
  EXPECT_FALSE(checkpoint::is_gguf(import_path() + ".none"));
}

}  // namespace
}  // namespace bora::run
