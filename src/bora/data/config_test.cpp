// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/data/formats.h"

namespace bora::data {
namespace {

using testing::HasSubstr;

/// The `data` block of a whole configuration; everything beside it is not looked at.
struct Reading {
  DataConfig config;
  std::vector<std::string> problems;
};

struct Root {
  DataConfig data;
  void bind(Binder& b) { b.field("data", data); }
};

Reading read(const ConfigTree& tree) {
  Root root;
  Reading out;
  for (const auto& problem : read_config(tree, root)) {
    if (problem.key.starts_with("data")) out.problems.push_back(problem.key + ": " + problem.message);
  }
  out.config = root.data;
  return out;
}

Reading read(const std::string& data) {
  std::string yaml = "data:\n";
  for (const auto& line : split(data, '\n')) yaml += "  " + line + "\n";
  ConfigTree tree;
  tree.merge_text(yaml, "a.yaml");
  return read(tree);
}

DataConfig good(const std::string& data) {
  auto reading = read(data);
  EXPECT_TRUE(reading.problems.empty()) << join(reading.problems, "\n");
  return reading.config;
}

std::string problems(const std::string& data) { return join(read(data).problems, "\n"); }

TEST(DataConfig, KeysOfOlderFilesAreNamedAndNotUsed) {
  ConfigTree tree;
  tree.merge_text("data: {train_urls: a.txt, shuffle_buffer_size: 10000, cache_options: {}}", "old.yaml");
  EXPECT_TRUE(read(tree).problems.empty());
  Root root;
  std::vector<std::string> keys;
  for (const auto& key : ignored_keys(tree, root)) keys.push_back(key.key + ": " + key.message);
  EXPECT_THAT(keys, testing::UnorderedElementsAre(
                        "data.cache_options: Bora cuts sources into shards by their size alone",
                        "data.shuffle_buffer_size: no buffer is needed: data.shuffle mixes whole data sets"));
}

TEST(DataConfig, DefaultsAreLevanters) {
  const auto c = good("train_urls: a.txt");
  EXPECT_EQ(c.tokenizer, "gpt2");
  EXPECT_EQ(c.cache_dir, "cache/");
  EXPECT_TRUE(c.enforce_eos);
  EXPECT_EQ(c.ignore_token_id, -100);
  EXPECT_EQ(c.shuffle.type, "none");
  EXPECT_EQ(c.mixture_block_size, 2048);
  EXPECT_EQ(c.stop_strategy, "restart");
  EXPECT_EQ(c.sources().size(), 1u);
  EXPECT_EQ(c.sources()[0].first, "data");
  EXPECT_EQ(c.sources()[0].second.train_urls, std::vector<std::string>{"a.txt"});
  EXPECT_EQ(c.sources()[0].second.format.config.as<TextFormat>().text_key, "text");
  EXPECT_TRUE(c.missing_sources().empty());
}

TEST(DataConfig, Mixture) {
  const auto c = good(
      "configs:\n  a: {train_urls: [a.txt], tags: [x, y/z]}\n  b:\n    validation_urls: b.txt\n    "
      "cache_dir: here\n"
      "    format: {type: text, text_key: body}\n"
      "train_weights: {a: 0.6, b: 0}\nmixture_block_size: 128\nmax_train_batches: {a: 3}\n"
      "num_validation_sequences: {a: 10}\nshuffle: 1000\npermutation_type: linear");
  EXPECT_EQ(c.sources().size(), 2u);
  EXPECT_EQ(c.configs[0].second.tags, (std::vector<std::string>{"x", "y/z"}));
  EXPECT_EQ(c.configs[1].second.cache_dir, "here");
  EXPECT_EQ(c.configs[1].second.format.config.as<TextFormat>().text_key, "body");
  ASSERT_EQ(c.train_weights.size(), 1u);
  EXPECT_EQ(c.train_weights[0].weights, (ByName<double>{{"a", 0.6}, {"b", 0.0}}));
  EXPECT_EQ(c.shuffle.type, "era");
  EXPECT_EQ(c.shuffle.config.as<EraShuffle>().era_length, 1000);
  EXPECT_EQ(c.shuffle.permutation, "linear");
}

// A data set's cache is a folder of its name.
TEST(DataConfig, NamesOfDataSetsDoNotLeadOut) {
  for (const std::string name : {"../../other", "/abs", "a/../b", ".", "", "a//b"})
    EXPECT_THAT(
        problems("cache_dir: here\nconfigs: {\"" + name + "\": {train_urls: x.txt}}"),
        HasSubstr(
            (name.empty() ? "\"\"" : name) +
            " cannot be the name of a data set: its cache is a folder of this name in here; give another "
            "name, or cache_dir beside its files"))
        << name;
  good("configs: {web/en: {train_urls: x.txt}, \"../b\": {train_urls: y.txt, cache_dir: own}}");
}

TEST(DataConfig, SpellingsOfValues) {
  EXPECT_EQ(good("shuffle: true").shuffle.type, "full");
  EXPECT_EQ(good("shuffle: false").shuffle.type, "none");
  const auto block = good("shuffle: {io_block_size: 8, window_blocks: 4}").shuffle;
  EXPECT_EQ(block.type, "block");
  EXPECT_EQ(block.config.as<BlockShuffle>().io_block, 8);
  EXPECT_EQ(good("shuffle: {type: era, era_length: 9}").shuffle.config.as<EraShuffle>().era_length, 9);
  EXPECT_EQ(good("num_validation_sequences: 7").num_validation_sequences, (ByName<std::int64_t>{{"", 7}}));
  EXPECT_EQ(good("train_tokenizer: {vocab_size: 2048}").train_tokenizer->vocab_size, 2048);
  EXPECT_EQ(good("train_tokenizer: {kind: wordpiece, vocab_size: 99}").train_tokenizer->kind, "wordpiece");
  const auto staged = good(
      "configs: {a: {train_urls: x.txt}, b: {train_urls: y.txt}}\n"
      "train_weights:\n  - [0, {\"a\": 0.8, \"b\": 0.2}]\n  - [100, {\"b\": 0.5, \"a\": 0.5}]");
  ASSERT_EQ(staged.train_weights.size(), 2u);
  EXPECT_EQ(staged.train_weights[1].start, 100);
  EXPECT_EQ(staged.train_weights[1].weights, (ByName<double>{{"b", 0.5}, {"a", 0.5}}));
}

TEST(DataConfig, Formats) {
  const auto format = [](const std::string& text) { return good("format: " + text).single.format; };
  EXPECT_TRUE(format("{type: text}")->is_concatenated());
  EXPECT_TRUE(format("{pack: false}")->is_concatenated());
  EXPECT_TRUE(format("{type: prebuilt, pack: concat}")->is_concatenated());
  const auto rules = [&](const std::string& text) { return format(text)->pack_rules(100); };
  EXPECT_FALSE(format("{pack: true}")->is_concatenated());
  EXPECT_EQ(rules("{pack: true}").max_segments, 64);
  EXPECT_EQ(rules("{pack: true}").overlong, Overlong::Left);
  EXPECT_EQ(rules("{pack: 7, slice_strategy: drop}").max_segments, 7);
  EXPECT_EQ(rules("{pack: 7, slice_strategy: drop}").overlong, Overlong::Drop);
  EXPECT_EQ(rules("{pack: pad}").max_segments, 1);
  EXPECT_EQ(rules("{type: chat}").max_segments, 64);
  EXPECT_EQ(rules("{type: chat}").overlong, Overlong::Left);
  EXPECT_EQ(rules("{type: chat, pack: false}").max_segments, 1);
  EXPECT_EQ(rules("{type: supervised}").max_segments, 64);
  EXPECT_EQ(rules("{type: supervised}").overlong, Overlong::Right);
  EXPECT_EQ(rules("{type: prebuilt}").max_segments, 1);
  EXPECT_EQ(rules("{type: prebuilt}").overlong, Overlong::Raise);
  EXPECT_EQ(rules("{type: preference_chat}").max_segments, 1);
  const auto of_chat = format(
      "{type: chat, messages_field: turns, single_turn: true, chat_template: x, system_prompt: sys, "
      "chat_template_kwargs: null, mask_user_turns: false}");
  const auto& chat = of_chat.config.as<ChatFormat>();
  EXPECT_EQ(chat.messages_field, "turns");
  EXPECT_TRUE(chat.single_turn);
  EXPECT_EQ(chat.system_prompt, "sys");
  EXPECT_FALSE(chat.chat_template_kwargs);
  EXPECT_FALSE(chat.mask_user_turns);
  const auto of_supervised =
      format("{type: supervised, input_field: q, output_field: a, separate_with: '|'}");
  const auto& supervised = of_supervised.config.as<SupervisedFormat>();
  EXPECT_EQ(supervised.input_field + supervised.output_field + *supervised.separate_with, "qa|");
  EXPECT_EQ(format("{type: prebuilt, loss_weights_key: w}").config.as<PrebuiltFormat>().loss_weights_key,
            "w");
}

TEST(DataConfig, WrongFormats) {
  const auto wrong = [](const std::string& text) { return problems("format: " + text); };
  EXPECT_THAT(wrong("{type: chat, pack: 0}"),
              HasSubstr("should be true, false, pad, concat or a number of documents, at least 1"));
  EXPECT_THAT(wrong("{pack: maybe}"), HasSubstr("data.format.pack = maybe: should be true, false, pad"));
  EXPECT_THAT(wrong("{slice_strategy: middle}"), HasSubstr("should be one of left, right, raise, drop"));
  EXPECT_THAT(wrong("{type: preference_chat, pack: true}"), HasSubstr("pairs are not packed; leave it out"));
  EXPECT_THAT(wrong("{type: preference_chat, slice_strategy: left}"),
              HasSubstr("a pair is never cut: raise is the only choice"));
  EXPECT_THAT(wrong("{type: chats}"),
              HasSubstr("data.format.type = chats: chats is not known; did you mean `chat`?; available: "
                        "text, chat, supervised, prebuilt, speech, preference_chat"));
  EXPECT_THAT(wrong("{text_keys: x}"), HasSubstr("did you mean data.format.text_key?"));
}

TEST(DataConfig, EndsAndEpochs) {
  const auto c = good(
      "stop_strategy: all_exhausted\nmax_epochs: 3\nreshuffle_each_epoch: false\n"
      "block_cross_document_attention: false\nshuffle_before_trainval_split: true");
  EXPECT_EQ(c.stop_strategy, "all_exhausted");
  EXPECT_EQ(c.max_epochs, 3);
  EXPECT_FALSE(c.shuffle.reshuffle_each_epoch);
  EXPECT_FALSE(c.block_cross_document_attention);
  EXPECT_TRUE(c.shuffle_before_trainval_split);
  EXPECT_TRUE(good("").block_cross_document_attention);
  EXPECT_FALSE(good("").max_epochs);
}

TEST(DataConfig, WritesWhatItReads) {
  for (const std::string text :
       {"train_urls: [a.txt]\nshuffle: true\nnum_validation_sequences: 7",
        "format: {type: chat, pack: 8}\nmax_epochs: 2", "format: {type: text, pack: pad}",
        "format: {type: prebuilt, pack: true, loss_weights_key: w}", "format: {type: preference_chat}",
        "shuffle: 50\ntrain_tokenizer: {vocab_size: 300}", "tokenizer: here",
        "shuffle: {io_block_size: 8, window_blocks: 4}",
        "configs: {a: {train_urls: x.txt}, b: {id: q, format: {type: chat}}}\ntrain_weights: {a: 1, b: 2}",
        "configs: {a: {train_urls: x.txt}}\ntrain_weights: [[0, {a: 1}], [10, {a: 2}]]\nmax_train_batches: "
        "{a: 2}"}) {
    Root first{good(text)};
    const std::string yaml = write_config(first);
    ConfigTree tree;
    tree.merge_text(yaml, "written.yaml");
    auto again = read(tree);
    EXPECT_TRUE(again.problems.empty()) << yaml << join(again.problems, "\n");
    Root second{again.config};
    EXPECT_EQ(write_config(second), yaml);
  }
}

TEST(DataConfig, Problems) {
  EXPECT_THAT(problems("train_url: x"), HasSubstr("did you mean data.train_urls?"));
  const std::string two = "configs: {alpha: {train_urls: x.txt}, beta: {train_urls: y.txt}}\n";
  EXPECT_THAT(problems(two + "train_weights: {alpha: 1, bet: 2}"),
              HasSubstr("there is no data set bet; did you mean `beta`?; there is alpha, beta"));
  EXPECT_THAT(problems(two + "train_weights: {alpha: 1, beta: -2}"),
              HasSubstr("data.train_weights.beta = -2: must be from 0 to 1000000000000000"));
  EXPECT_THAT(problems(two + "train_weights: [[5, {alpha: 1}]]"),
              HasSubstr("the first stage should start at step 0 but starts at 5"));
  EXPECT_THAT(problems(two + "train_weights: [[0, {alpha: 1}], [9, {alpha: 1}], [9, {beta: 1}]]"),
              HasSubstr("a stage at step 9 follows one at step 9; starts should grow"));
  EXPECT_THAT(problems(two + "num_validation_sequences: 5"),
              HasSubstr("there is no data set without a name"));
  EXPECT_THAT(problems(two + "num_validation_sequences: {alpha: -5}"),
              HasSubstr("alpha = -5: must be at least 0"));
  EXPECT_THAT(problems(two + "max_train_batches: {alpha: 0}"),
              HasSubstr("alpha = 0: must be from 1 to 2147483647"));
  EXPECT_THAT(problems(two + "id: some/set"),
              HasSubstr("a mixture has its data sets in configs, not beside it"));
  for (const char* key : {"validation_urls: [v.txt]", "tags: [x]", "name: y", "format: {type: chat}"})
    EXPECT_THAT(problems(two + key),
                HasSubstr("has no effect beside configs, which has the data sets; put it into "
                          "data.configs.alpha"))
        << key;
  EXPECT_THAT(problems(two + "train_weights: [[0, {alpha: 1}, 3]]"), HasSubstr("should be a list of two"));
  EXPECT_THAT(problems("mixture_block_size: 70000"), HasSubstr("must be from 1 to 65535"));
  EXPECT_THAT(problems("target_budget: 1e9"), HasSubstr("target_budget and experiment_budget go together"));
  EXPECT_THAT(problems("target_budget: 10\nexperiment_budget: 20"),
              HasSubstr("is 20 but should be at most target_budget = 10"));
  EXPECT_THAT(problems("max_epochs: 0"), HasSubstr("max_epochs = 0: must be from 1 to 2147483647"));
  for (const char* sets :
       {"configs: {code: {}, code/python: {}}", "configs: {code: {}, code/python: {tags: [code]}}"})
    EXPECT_THAT(problems(sets),
                HasSubstr("code is a data set, and a group of which code/python is, by its name or "
                          "tags: eval/code would be the results of both; give one of them another"));
  EXPECT_THAT(problems("configs: {wiki: {}, b: {tags: [wiki/en]}}"),
              HasSubstr("wiki is a data set, and a group"));
  EXPECT_THAT(problems("configs: {wiki: {tags: [wiki]}, b: {tags: [c]}}"), Not(HasSubstr("is a data set")));
  EXPECT_THAT(problems("tokenizer: passthrough"), HasSubstr("passthrough needs vocab_size"));
  EXPECT_THAT(problems("stop_strategy: first"), HasSubstr("first_exhausted"));
  EXPECT_THAT(problems("train_tokenizer: {vocab_size: 100}"),
              HasSubstr("should be at least 257: special tokens, bytes"));
  EXPECT_THAT(problems("train_tokenizer: {kind: unigram, vocab_size: 270}"),
              HasSubstr("should be at least 279: special tokens, bytes and the characters of the text"));
  EXPECT_THAT(problems("train_tokenizer: {kind: bep}"), HasSubstr("bpe"));
  EXPECT_THAT(problems("train_tokenizer: {character_coverage: 0}"),
              HasSubstr("must be above 0 and at most 1"));
  EXPECT_THAT(problems("shuffle: 0"), HasSubstr("data.shuffle = 0: must be at least 1"));
  EXPECT_THAT(problems("shuffle: {io_block_size: 0, window_blocks: 0}"),
              testing::AllOf(HasSubstr("io_block_size = 0: must be from 1 to 2147483647"),
                             HasSubstr("window_blocks = 0: must be")));
}

TEST(DataConfig, WeightsThatAreAllZeroLeaveNothingToTrainOn) {
  const std::string two = "configs: {alpha: {train_urls: x.txt}, beta: {train_urls: y.txt}}\n";
  const auto of = [&](const std::string& weights) {
    std::string out;
    for (const auto& p : good(two + "train_weights: " + weights).training_problems())
      out += p.key + ": " + p.message;
    return out;
  };
  EXPECT_EQ(
      of("{alpha: 0}"),
      "data.train_weights: no data set has a weight above 0 from step 0 on: there is nothing to train on; give "
      "one a larger weight");
  EXPECT_THAT(of("[[0, {alpha: 1}], [7, {alpha: 0, beta: 0}]]"), HasSubstr("from step 7 on"));
  EXPECT_EQ(of("{alpha: 0, beta: 1}"), "");
}

TEST(DataConfig, PairsAreReadAndNotTrainedOn) {
  const auto config = good("configs: {a: {train_urls: a.jsonl, format: {type: preference_chat}}}");
  EXPECT_TRUE(config.missing_sources().empty());
  for (const auto& problems : {config.training_problems(), config.untrainable_sources()}) {
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].key, "data.configs.a.format.type");
    EXPECT_EQ(problems[0].message,
              "pairs can be cached and read; there is no training and no evaluation on them yet");
  }
}

std::string missing(const DataConfig& config) {
  std::string out;
  for (const auto& problem : config.missing_sources()) out += problem.key + ": " + problem.message + "\n";
  return out;
}

// A hub data set stands for its files, unless files are given.
TEST(DataConfig, FilesOfAHubDataSet) {
  const auto urls = [](const std::string& yaml, store::Split split) {
    return testing::PrintToString(good(yaml).single.urls(split));
  };
  using store::Split;
  EXPECT_EQ(urls("id: me/words", Split::Train), "{ \"hf://datasets/me/words\" }");
  const std::string more = "id: me/words@v1\nname: en\nvalidation_split: dev\n";
  EXPECT_EQ(urls(more, Split::Train), "{ \"hf://datasets/me/words@v1?config=en\" }");
  EXPECT_EQ(urls(more, Split::Validation), "{ \"hf://datasets/me/words@v1?config=en&split=dev\" }");
  EXPECT_EQ(urls(more + "validation_urls: [a.txt]", Split::Validation), "{ \"a.txt\" }");
  EXPECT_EQ(urls(more + "train_urls: [a.txt]", Split::Validation), "{}");
  EXPECT_EQ(urls("train_urls: [a.txt]", Split::Train), "{ \"a.txt\" }");
  EXPECT_THAT(problems("id: \"../me\""), HasSubstr("../me is no name on the hub; owner/name"));
}

TEST(DataConfig, MissingSources) {
  EXPECT_EQ(missing(good("id: dlwh/wikitext_103_detokenized")), "");
  EXPECT_EQ(missing(good("tokenizer: x")),
            "data.train_urls: no files; give paths, for example [\"my/*.txt\"]\n");
  EXPECT_EQ(missing(good("configs: {a: {train_urls: \"hdfs://b/{1..3}.jsonl\", format: {type: "
                         "preference_chat}}}\ncache_dir: gs://c")),
            "data.configs.a.train_urls: hdfs://b/{1..3}.jsonl is on hdfs://, which Bora does not read; "
            "download it and "
            "give "
            "local paths\n"
            "data.cache_dir: gs://c is on gs://; give a local folder\n");
}

TEST(DataConfig, ReadsEveryLevanterConfiguration) {
  const std::string folder = std::string(BORA_SHARED_DIR) + "/data/levanter-config";
  if (!exists(folder)) GTEST_SKIP() << folder << " is not here";
  int read_files = 0;
  for (const auto& name : files().list(folder)) {
    if (!name.ends_with(".yaml")) continue;
    ConfigTree tree;
    try {
      tree.merge_file(path_join(folder, name));
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr("cannot include")) << "one includes an optimizer that is not here";
      continue;
    }
    if (!tree.has("data")) continue;
    const auto reading = read(tree);
    EXPECT_TRUE(reading.problems.empty()) << name << ": " << join(reading.problems, "\n");
    const auto sources = reading.config.sources();
    const bool of_hub = std::any_of(sources.begin(), sources.end(),
                                    [](const auto& source) { return source.second.id.has_value(); });
    EXPECT_TRUE(of_hub || !reading.config.missing_sources().empty()) << name << " names remote data";
    ++read_files;
  }
  EXPECT_GE(read_files, 20);
  for (const auto* name :
       {"data/openwebtext_source.yaml", "data/pile_mixture.yaml", "data/wikitext_source.yaml"}) {
    const auto reading = read(read_text(path_join(folder, name)));
    EXPECT_TRUE(reading.problems.empty()) << name << ": " << join(reading.problems, "\n");
  }
}

}  // namespace
}  // namespace bora::data
