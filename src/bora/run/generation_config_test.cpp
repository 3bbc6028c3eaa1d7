// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/generation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/models/add_model.h"
#include "bora/models/gpt2_config.h"
#include "bora/models/test_builtin_models.h"
#include "bora/run/models.h"

namespace bora::run {
namespace {

using Ids = std::vector<std::int32_t>;

/// Words, of which <s>, </s> and <pad> are 0, 1 and 2.
Tokenizer words(const std::string& config = R"({"bos_token":"<s>","eos_token":"</s>","pad_token":"<pad>"})",
                const std::string& fourth = "a") {
  const std::string json =
      R"({"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,)"
      R"("decoder":null,"model":{"type":"WordLevel","unk_token":"a","vocab":{"<s>":0,"</s>":1,"<pad>":2,)"
      R"("a":3,")" +
      fourth + R"(b":4}}})";
  return Tokenizer::from_json(json, config);
}

class Generation : public testing::Test {
 protected:
  Generation() : folder_(testing::TempDir() + "generation_config") {
    remove_all(folder_);
    files().make_directories(folder_);
  }
  ~Generation() override { remove_all(folder_); }
  std::string at(const std::string& name) const { return path_join(folder_, name); }
  void put(const std::string& name, const std::string& content) const {
    files().make_directories(parent_path(at(name)));
    write_atomically(at(name), content);
  }
  Json of(const std::optional<Tokenizer>& tokenizer, std::int64_t vocab = 5) const {
    return generation_of(folder_, tokenizer, vocab);
  }
  std::string folder_;
};

TEST_F(Generation, IsMadeOfTheTokenizer) {
  EXPECT_EQ(of({}), Json::object());
  EXPECT_EQ(of(words()), Json::parse(R"({"bos_token_id":0,"eos_token_id":1,"pad_token_id":2})"));
  EXPECT_EQ(of(words(R"({"eos_token":"</s>"})")), Json::parse(R"({"eos_token_id":1})"));
  EXPECT_EQ(stop_ids(of({})), Ids{});
}

TEST_F(Generation, IsKeptWhole) {
  put("generation_config.json",
      R"({"do_sample":true,"eos_token_id":[3,4],"bos_token_id":3,"pad_token_id":null,"top_p":0.9})");
  EXPECT_EQ(of({}), Json::parse(R"({"do_sample":true,"eos_token_id":[3,4],"bos_token_id":3,"top_p":0.9})"));
  const Json both = of(words());
  EXPECT_EQ(both["eos_token_id"], Json::parse("[3,4,1]")) << "the tokenizer's end is one of the ends";
  EXPECT_EQ(both["bos_token_id"], 3);
  EXPECT_EQ(both["pad_token_id"], 2);
  EXPECT_EQ(stop_ids(both), (Ids{3, 4, 1}));
  EXPECT_EQ(of({}, 4)["eos_token_id"], 3) << "4 is not in a vocabulary of 4";
}

TEST_F(Generation, TheConfigSaysItWhereNothingElseDoes) {
  put("config.json", R"({"model_type":"llama","bos_token_id":0,"eos_token_id":[1,4],"hidden_size":8})");
  EXPECT_EQ(of({}), Json::parse(R"({"bos_token_id":0,"eos_token_id":[1,4]})"));
  put("generation_config.json", R"({"eos_token_id":3})");
  EXPECT_EQ(of({}), Json::parse(R"({"eos_token_id":3})"));
}

TEST_F(Generation, ForcedTokensMayBeOfEitherFile) {
  const auto forced = Json::parse("[[1,3]]");
  put("config.json", R"({"model_type":"whisper","forced_decoder_ids":[[1,3]]})");
  EXPECT_EQ(of({})["forced_decoder_ids"], forced);
  put("generation_config.json", R"({"eos_token_id":3,"forced_decoder_ids":null})");
  EXPECT_EQ(of({})["forced_decoder_ids"], forced);
  put("generation_config.json", R"({"forced_decoder_ids":[[1,null]]})");
  EXPECT_EQ(of({})["forced_decoder_ids"], Json::parse("[[1,null]]"));
}

TEST_F(Generation, IdsThatAreNone) {
  put("generation_config.json", R"({"eos_token_id":["</s>"]})");
  try {
    of({});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), folder_ + ": eos_token_id should be an id or a list of ids but is [\"</s>\"]");
  }
}

TEST_F(Generation, ARunKeepsThatOfItsModel) {
  put("hf/generation_config.json", R"({"eos_token_id":[1,4]})");
  files().make_directories(at("run"));
  words().save(at("hf"));
  keep_generation(at("hf"), words(), at("run"));
  EXPECT_EQ(stop_ids(generation_of(at("run"), words(), 5)), (Ids{1, 4}));
  keep_generation(at("hf"), words("{}", "c"), at("run"));
  EXPECT_FALSE(exists(at("run/generation_config.json"))) << "ids of another tokenizer";
}

TEST_F(Generation, ExportsCarryWhatChatsNeed) {
  gpt2::Config small;
  small.seq_len = 8;
  small.hidden_dim = 8;
  small.num_layers = 1;
  small.num_heads = 2;
  const auto model =
      models::make_model(models::ModelConfigOf<gpt2::Config>("gpt2", small), 5, Key::from_seed(1));
  const auto tokenizer = words(R"({"eos_token":"</s>","chat_template":[{"name":"default","template":"d"},)"
                               R"({"name":"tool_use","template":"t"}]})")
                             .with_chat_template("mine");
  export_hugging_face(*model, tokenizer, of(tokenizer), at("out"), core::DType::f32);
  const Json config = Json::parse(read_text(at("out/config.json")));
  EXPECT_EQ(config["eos_token_id"], 1);
  EXPECT_TRUE(config.at("bos_token_id").is_null()) << "left out it would be 50256";
  EXPECT_TRUE(config.at("pad_token_id").is_null());
  EXPECT_EQ(Json::parse(read_text(at("out/generation_config.json"))), Json::parse(R"({"eos_token_id":1})"));
  EXPECT_EQ(read_text(at("out/chat_template.jinja")), "mine");
  EXPECT_EQ(read_text(at("out/additional_chat_templates/tool_use.jinja")), "t");
  EXPECT_FALSE(Json::parse(read_text(at("out/tokenizer_config.json"))).contains("chat_template"));
  EXPECT_EQ(Tokenizer::load(at("out")).chat_templates(),
            (ChatTemplates{{"default", "mine"}, {"tool_use", "t"}}));
  export_hugging_face(*model, {}, of({}), at("bare"), core::DType::f32);
  EXPECT_TRUE(Json::parse(read_text(at("bare/config.json"))).at("eos_token_id").is_null());
  EXPECT_FALSE(exists(at("bare/generation_config.json")));
}

}  // namespace
}  // namespace bora::run
