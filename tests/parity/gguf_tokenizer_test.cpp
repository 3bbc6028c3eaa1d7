// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Tokenizers like SentencePiece's as GGUF has them: by scores. That llama.cpp itself has the same ids was seen with it;
// here its rule stands once more.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/models/add_model.h"
#include "bora/models/test_builtin_models.h"
#include "bora/run/gguf_export.h"
#include "bora/run/gguf_families.h"
#include "bora/run/gguf_import.h"
#include "bora/run/gguf_tokenizer.h"
#include "bora/tokenize/oracle_test_util.h"

namespace bora::run {
namespace {

using checkpoint::GgufFile;
using checkpoint::GgufType;
using checkpoint::GgufValue;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kVocabulary = 290;
constexpr const char* kReplace = R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})";
constexpr const char* kPrepend =
    R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":)"
    R"({"String":" "},"content":"▁"}]})";
constexpr const char* kBoras =
    R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"String":"\n"},"behavior":"Contiguous",)"
    R"("invert":false},{"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":true}]})";

std::string metaspace(const std::string& scheme, bool split) {
  return fmt::format(R"({{"type":"Metaspace","replacement":"▁","prepend_scheme":"{}","split":{}}})", scheme,
                     split);
}

using Merges = std::vector<std::pair<std::string, std::string>>;

// <unk>, <s>, </s>, 256 bytes, characters, what merges make.
struct Words {
  std::string normalizer = kPrepend, pre_tokenizer = "null", post_processor = "null";
  Merges merges = {{"▁", "a"},   {"b", "c"}, {"▁a", "bc"}, {"a", "bc"}, {"▁a", "b"},
                   {"▁", "abc"}, {"a", "b"}, {"a", "a"},   {"aa", "a"}, {"▁ab", "c"}};
  std::vector<std::string> characters = {"▁", "a", "b", "c", "日", "cac"};
  Json added = Json::array();
  Json model = {{"type", "BPE"}, {"unk_token", "<unk>"}, {"fuse_unk", true}, {"byte_fallback", true}};
  int bytes = 256;
  std::string end = "</s>";

  Words& add(const std::string& text, Json changes) {
    const auto known = vocab();
    Json token = {{"id", known.value(text, std::ssize(known))},
                  {"content", text},
                  {"single_word", false},
                  {"lstrip", false},
                  {"rstrip", false},
                  {"normalized", false},
                  {"special", true}};
    token.update(changes);
    added.push_back(token);
    return *this;
  }
  Json vocab() const {
    Json out = Json::object();
    const auto put = [&](const std::string& text) {
      if (!out.contains(text)) out[text] = static_cast<int>(out.size());
    };
    for (const char* text : {"<unk>", "<s>", "</s>"}) put(text);
    for (int b = 0; b < bytes; ++b) put(gguf_byte(b));
    for (const auto& text : characters) put(text);
    for (const auto& [left, right] : merges) put(left + right);
    for (const auto& token : added)
      if (token["id"] == out.size()) put(token["content"]);
    return out;
  }
  Tokenizer tokenizer() const {
    auto with = *this;
    if (added.empty())
      for (const char* text : {"<unk>", "<s>", "</s>"}) with.add(text, Json::object());
    if (model["type"] == "BPE") with.model.update({{"vocab", with.vocab()}, {"merges", merges}});
    const auto has = [](const std::string& rule, const char* word) { return rule.find(word) != rule.npos; };
    const bool strips =
        has(normalizer, "Prepend") || has(pre_tokenizer, "first") || has(pre_tokenizer, "always");
    return Tokenizer::from_json(
        fmt::format(
            R"({{"version":"1.0","added_tokens":{},"normalizer":{},"pre_tokenizer":{},"post_processor":{},)"
            R"("decoder":{{"type":"Sequence","decoders":[{{"type":"Replace","pattern":{{"String":"▁"}},)"
            R"("content":" "}},{{"type":"ByteFallback"}},{{"type":"Fuse"}}{}]}},"model":{}}})",
            with.added.dump(), normalizer, pre_tokenizer, post_processor,
            strips ? R"(,{"type":"Strip","content":" ","start":1,"stop":0})" : "", with.model.dump()),
        Json{{"bos_token", "<s>"}, {"eos_token", end.empty() ? Json() : Json(end)}, {"unk_token", "<unk>"}}
            .dump());
  }
};

std::string tokenizer_path() { return testing::TempDir() + "bora_gguf_tokenizer_test.gguf"; }

std::unique_ptr<nn::LanguageModel> rows_model(std::int64_t rows, const std::string& name = "tiny-llama-tied",
                                              const Json& changes = Json::object()) {
  auto json = parse_json(read_text(BORA_SOURCE_DIR "/tests/parity/models/" + name + "/config.json"), name);
  json["vocab_size"] = rows;
  json.update(changes);
  return models::make_model(*models::model_config_from_hf(json, "config.json"), rows, Key{});
}

std::vector<std::string> write(const Tokenizer& tokenizer, std::int64_t rows = kVocabulary) {
  return export_gguf(*rows_model(rows), tokenizer, Json::object(), tokenizer_path(), GgufType::f32);
}

std::string refusal_of(const Words& words) {
  try {
    write(words.tokenizer());
    return "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Unsupported) << e.what();
    return e.what();
  }
}

// llama.cpp's rule for texts without special tokens.
class ByScores {
 public:
  explicit ByScores(const GgufFile& file) : prefix_(*file.value("tokenizer.ggml.add_space_prefix") == true) {
    const auto& tokens = *file.value("tokenizer.ggml.tokens");
    const auto& scores = *file.value("tokenizer.ggml.scores");
    for (std::size_t i = 0; i < tokens.size(); ++i)
      tokens_[tokens[i]] = {static_cast<std::int32_t>(i), scores[i].get<float>()};
  }
  std::vector<std::int32_t> ids(const std::string& text) const {
    std::vector<std::string> parts;
    const auto spaced = (prefix_ && !text.empty() ? " " : "") + text;
    for (std::size_t i = 0; i < spaced.size(); i += utf8_length(spaced[i]))
      parts.push_back(spaced[i] == ' ' ? "▁" : spaced.substr(i, utf8_length(spaced[i])));
    while (true) {
      std::size_t best = parts.size();
      float highest = -std::numeric_limits<float>::infinity();
      for (std::size_t i = 0; i + 1 < parts.size(); ++i)
        if (const auto at = tokens_.find(parts[i] + parts[i + 1]);
            at != tokens_.end() && at->second.second > highest)
          best = i, highest = at->second.second;
      if (best == parts.size()) break;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    std::vector<std::int32_t> out;
    for (const auto& part : parts) {
      if (const auto at = tokens_.find(part); at != tokens_.end())
        out.push_back(at->second.first);
      else
        for (const char byte : part)
          out.push_back(tokens_.at(gguf_byte(static_cast<unsigned char>(byte))).first);
    }
    return out;
  }

 private:
  bool prefix_;
  std::map<std::string, std::pair<std::int32_t, float>> tokens_;
};

std::vector<std::string> texts(const std::vector<std::string>& atoms) {
  tokenize::RandomTexts random(3);
  std::vector<std::string> out = {"", " ", "a", "abc", "  abc  ", "\n\n a\n"};
  for (int i = 0; i < 300; ++i) out.push_back(random.of(atoms, 14));
  for (int i = 0; i < 100; ++i) out.push_back(random.any(8));
  return out;
}
const std::vector<std::string> kAtoms = {"a",  "a", "b",  "c",  "abc", " ", "  ",
                                         "日", "é", "😀", "\n", "▁",   "x"};

void expect_same_ids(const Tokenizer& ours, const Tokenizer& theirs, const std::vector<std::string>& all) {
  for (const auto& text : all) {
    for (const bool special : {false, true})
      ASSERT_EQ(theirs.encode(text, special).ids, ours.encode(text, special).ids) << Json(text).dump();
    const auto ids = ours.encode(text, false).ids;
    ASSERT_EQ(theirs.decode(ids), ours.decode(ids)) << Json(text).dump();
  }
}

TEST(GgufTokenizer, SaysWhatTokensAre) {
  Words words;
  words.post_processor =
      R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A",)"
      R"("type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},)"
      R"({"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]},)"
      R"("</s>":{"id":"</s>","ids":[2],"tokens":["</s>"]}}})";
  EXPECT_THAT(write(words.tokenizer()), IsEmpty());
  const GgufFile file(tokenizer_path());
  const auto value = [&](const std::string& key) { return *file.value("tokenizer.ggml." + key); };
  EXPECT_EQ(value("model"), "llama");
  EXPECT_EQ(value("pre"), "default");
  EXPECT_EQ(value("add_space_prefix"), true);
  EXPECT_EQ(value("add_bos_token"), true);
  EXPECT_EQ(value("add_eos_token"), true);
  EXPECT_EQ(value("bos_token_id"), 1);
  EXPECT_EQ(value("eos_token_id"), 2);
  EXPECT_EQ(value("unknown_token_id"), 0);
  const auto types = value("token_type"), tokens = value("tokens"), scores = value("scores");
  ASSERT_EQ(tokens.size(), std::size_t{kVocabulary});
  EXPECT_EQ(types[0], kGgufUnknown);
  EXPECT_EQ(types[1], kGgufControl);
  EXPECT_EQ(types[3], kGgufByte);
  EXPECT_EQ(types[259], kGgufNormal);
  EXPECT_EQ(types[kVocabulary - 1], kGgufUnused);
  EXPECT_EQ(tokens[3], "<0x00>");
  EXPECT_EQ(tokens[259], "▁");
  EXPECT_EQ(scores[1], 0);
  // In the order of those merges that are ever made: "▁abc" is made of "▁a" and "bc" alone, "cac" of nothing.
  std::map<std::string, float> made;
  for (std::size_t i = 264; i < 273; ++i) made[tokens[i]] = scores[i].get<float>();
  EXPECT_EQ(made, (std::map<std::string, float>{{"▁a", 0},
                                                {"bc", -1},
                                                {"▁abc", -2},
                                                {"abc", -3},
                                                {"▁ab", -4},
                                                {"ab", -5},
                                                {"aa", -6},
                                                {"aaa", -7},
                                                {"cac", -8}}));
}

// Each way to write ▁ for spaces: llama.cpp's rule, the tokenizer and what comes back of the file.
TEST(GgufTokenizer, HasTheSameIds) {
  std::vector<Words> all(7);
  all[1].normalizer = kReplace;
  all[2].normalizer = "null", all[2].pre_tokenizer = metaspace("never", false);
  all[3].normalizer = R"({"type":"Prepend","prepend":"▁"})", all[3].pre_tokenizer = kBoras;
  all[4].normalizer = kReplace;
  all[4].pre_tokenizer =
      R"({"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious","invert":false})";
  all[5].merges = {{"a", "a"},  {"▁", "▁"},   {"▁▁", "▁▁"}, {"▁▁▁", "▁"}, {"▁▁", "▁"},
                   {"▁", "▁▁"}, {"\n", "\n"}, {"a", "bc"},  {"b", "c"}};
  all[5].characters.push_back("\n");
  all[6].normalizer = "null", all[6].pre_tokenizer = metaspace("never", true);
  for (const auto& words : all) {
    SCOPED_TRACE(words.normalizer + " " + words.pre_tokenizer);
    const auto tokenizer = words.tokenizer();
    EXPECT_THAT(write(tokenizer), IsEmpty());
    const auto back = import_gguf(tokenizer_path());
    const ByScores llama{GgufFile(tokenizer_path())};
    for (const auto& text : texts(kAtoms))
      ASSERT_EQ(llama.ids(text), tokenizer.encode(text, false).ids) << Json(text).dump();
    expect_same_ids(tokenizer, *back.tokenizer, texts(kAtoms));
    EXPECT_EQ(back.tokenizer->unk_id(), 0);
    const auto first = read_text(tokenizer_path());
    export_gguf(*back.model, *back.tokenizer, back.generation, tokenizer_path(), GgufType::f32);
    EXPECT_TRUE(read_text(tokenizer_path()) == first) << "the file once more, byte by byte";
  }
}

// Of these llama.cpp has none: what it does instead is said, and what was meant comes back.
TEST(GgufTokenizer, SaysWhatIsDoneOtherwise) {
  auto atoms = kAtoms;
  for (const char* text : {"<s>", "</s>", "\n\n", "▁▁"}) atoms.emplace_back(text);
  Words first, always, normalized, spaces;
  first.normalizer = always.normalizer = "null";
  first.pre_tokenizer = metaspace("first", false), always.pre_tokenizer = metaspace("always", false);
  for (const char* text : {"<unk>", "<s>", "</s>"}) {
    normalized.add(text, {{"normalized", true}});
    spaces.add(text, Json::object());
  }
  spaces.normalizer = kReplace;
  spaces.merges.push_back({"▁", "▁"});
  spaces.add("▁▁", {{"special", false}});
  spaces.add("\n\n", {{"special", false}});
  const std::string begins = "a text that begins with a space gets one more in front in llama.cpp",
                    behind = "a text behind a special token gets a space in front in llama.cpp";
  const auto expect = [&](const Words& words, const auto& notes) {
    const auto tokenizer = words.tokenizer();
    EXPECT_THAT(write(tokenizer), notes);
    expect_same_ids(tokenizer, *import_gguf(tokenizer_path()).tokenizer, texts(atoms));
  };
  expect(first, ElementsAre(begins, behind));
  expect(always, ElementsAre(begins));
  expect(normalized,
         ElementsAre("3 added tokens with \"normalized\": true, <unk> one of them, are found wherever "
                     "they are spelled in llama.cpp"));
  expect(spaces,
         ElementsAre("1 added tokens of spaces, ▁▁ one of them, are not found where ▁ itself is spelled in "
                     "llama.cpp"));
  const auto types = *GgufFile(tokenizer_path()).value("tokenizer.ggml.token_type");
  const auto id = [&](const char* text) { return static_cast<std::size_t>(*spaces.tokenizer().id_of(text)); };
  EXPECT_EQ(types[id("▁▁")], kGgufNormal);
  EXPECT_EQ(types[id("\n\n")], kGgufUserDefined);
  Words spelled;
  for (const char* text : {"<", "s", ">"}) spelled.characters.emplace_back(text);
  spelled.merges.push_back({"<", "s"});
  EXPECT_THAT(
      write(spelled.tokenizer()),
      ElementsAre("1 special tokens, <s> one of them, are tokens in llama.cpp also where they are to be "
                  "ordinary text"));
}

// Its tokens take the white space behind them, which llama.cpp knows by the name of the model.
TEST(GgufTokenizer, Phi3) {
  Words words;
  for (const char* text : {"<unk>", "<s>"}) words.add(text, Json::object());
  words.add("</s>", {{"rstrip", true}, {"special", false}});
  words.add("<|endoftext|>", Json::object()).add("<|end|>", {{"rstrip", true}});
  words.end = "<|endoftext|>";
  const auto tokenizer = words.tokenizer();
  const auto model = rows_model(kVocabulary, "tiny-phi3", {{"sliding_window", nullptr}});
  EXPECT_THAT(export_gguf(*model, tokenizer, Json::object(), tokenizer_path(), GgufType::f32), IsEmpty());
  EXPECT_EQ(*GgufFile(tokenizer_path()).value("general.name"), "phi3");
  auto atoms = kAtoms;
  for (const char* text : {"<|end|>", "</s>", "<s>", "\n"}) atoms.emplace_back(text);
  expect_same_ids(tokenizer, *import_gguf(tokenizer_path()).tokenizer, texts(atoms));
  EXPECT_THAT(refusal_of(words),
              HasSubstr("the tokenizer's special tokens take the white space behind them (rstrip) as "
                        "Phi-3's do, in a model of type llama, which llama.cpp does not have"));
}

TEST(GgufTokenizer, RefusesWhatScoresCannotSay) {
  Words words;
  words.merges = {{"a", "b"}, {"b", "c"}, {"a", "bc"}};
  EXPECT_THAT(refusal_of(words),
              HasSubstr("the tokenizer's rule to leave \"abc\" as \"ab\" and \"c\", though it is token "
                        "267, needs merges beside scores, which llama.cpp does not have\nhint: bora "
                        "export without --format gguf"));
  words.merges.push_back({"ab", "c"});  // by this one it becomes a token
  EXPECT_EQ(refusal_of(words), "no error");
  words = {};
  words.merges = {{"▁", "▁"}};
  words.normalizer = "null", words.pre_tokenizer = metaspace("never", true);
  EXPECT_THAT(refusal_of(words),
              HasSubstr("rule to leave \"▁▁\" as \"▁\" and \"▁\", though it is token 265, needs merges"));
}

TEST(GgufTokenizer, RefusesByName) {
  const auto with = [](auto&& change) {
    Words words;
    change(words);
    return refusal_of(words);
  };
  EXPECT_THAT(with([](auto& w) { w.bytes = 255; }),
              HasSubstr("the tokenizer's model has byte_fallback but no token <0xFF>, which llama.cpp"));
  EXPECT_THAT(with([](auto& w) {
                w.model["continuing_subword_prefix"] = "##";
                w.merges.clear();
              }),
              HasSubstr("model has continuing_subword_prefix \"##\""));
  EXPECT_THAT(with([](auto& w) { w.model["ignore_merges"] = true; }), HasSubstr("model has ignore_merges"));
  EXPECT_THAT(with([](auto& w) { w.normalizer = R"({"type":"Lowercase"})"; }),
              HasSubstr(R"(normalizer is {"type":"Lowercase"})"));
  EXPECT_THAT(with([](auto& w) { w.normalizer = R"({"type":"Prepend","prepend":"▁"})"; }),
              HasSubstr("normalizer leaves spaces as they are"));
  EXPECT_THAT(with([](auto& w) { w.pre_tokenizer = R"({"type":"WhitespaceSplit"})"; }),
              HasSubstr(R"(pre_tokenizer is {"type":"WhitespaceSplit"})"));
  EXPECT_THAT(with([](auto& w) {
                w.normalizer = "null";
                w.pre_tokenizer = kBoras;
                w.pre_tokenizer.replace(w.pre_tokenizer.find("never"), 5, "first");
              }),
              HasSubstr("pre_tokenizer adds a space in front of every line"));
  EXPECT_THAT(with([](auto& w) { w.merges.push_back({"<0x00>", "a"}); }),
              HasSubstr("merge of \"<0x00>\" and \"a\" joins bytes"));
  EXPECT_THAT(with([](auto& w) { w.add("</s>", {{"lstrip", true}}); }),
              HasSubstr("token \"</s>\" looks at what stands around it (lstrip, rstrip or single_word)"));
  EXPECT_THAT(
      with([](auto& w) {
        w.post_processor =
            R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":)"
            R"({"id":"<s>","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B",)"
            R"("type_id":1}}],"special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]}}})";
      }),
      HasSubstr("post_processor puts other tokens around a text than a beginning and an end"));
  EXPECT_THAT(with([](auto& w) {
                w.merges.push_back({std::string(1018, 'a'), "aaaaaaa"});
                w.characters.emplace_back(1018, 'a');
                w.characters.emplace_back("aaaaaaa");
              }),
              HasSubstr("has 1025 bytes, more than 1024,"));
  EXPECT_THAT(
      with([](auto& w) {
        w.model = parse_json(
            R"({"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["<s>",0.0],["</s>",0.0],["a",-1.0]]})",
            "model");
      }),
      HasSubstr("the tokenizer's model is Unigram, which llama.cpp does not have"));
}

// Tokenizers of SentencePiece's own files, which Bora reads as they are: scores stand there.
Words of_sentencepiece(bool prefix) {
  Words out;
  out.normalizer = fmt::format(
      R"({{"type":"SentencePiece","precompiled_charsmap":"","add_dummy_prefix":{},"remove_extra_whitespaces":false,)"
      R"("escape_whitespaces":true,"whitespace_is_suffix":false,"user_defined":[]}})",
      prefix);
  out.model = {
      {"type", "SentencePiece"}, {"algorithm", "BPE"}, {"byte_fallback", true}, {"pieces", Json::array()}};
  const auto vocab = out.vocab();
  for (const auto& [text, id] : vocab.items()) {
    const int i = id.get<int>(), kind = i == 0    ? kGgufUnknown
                                        : i < 3   ? kGgufControl
                                        : i < 259 ? kGgufByte
                                                  : kGgufNormal;
    out.model["pieces"].push_back({text, i < 259 ? 0 : 259 - i, kind});
  }
  return out;
}

TEST(GgufTokenizer, SentencePieceModels) {
  for (const bool prefix : {true, false}) {
    const auto tokenizer = of_sentencepiece(prefix).tokenizer();
    EXPECT_THAT(write(tokenizer), IsEmpty());
    const ByScores llama{GgufFile(tokenizer_path())};
    const auto back = *import_gguf(tokenizer_path()).tokenizer;
    for (const auto& text : texts(kAtoms)) {
      const auto ids = tokenizer.encode(text, false).ids;
      ASSERT_EQ(llama.ids(text), ids) << Json(text).dump();
      ASSERT_EQ(back.encode(text, false).ids, ids) << Json(text).dump();
    }
  }
  auto words = of_sentencepiece(true);
  words.model["pieces"][264][2] = kGgufUserDefined;
  EXPECT_THAT(refusal_of(words),
              HasSubstr("the tokenizer's model has a user-defined piece, \"cac\", that no space in "
                        "front follows, which llama.cpp does not have"));
  words.model["pieces"][264][2] = kGgufUnused;
  EXPECT_THAT(refusal_of(words),
              HasSubstr("the tokenizer's model has an unused piece, \"cac\", which llama.cpp does"));
}

TEST(GgufTokenizer, RefusesAnEndWithoutAName) {
  Words words;
  for (const char* text : {"<unk>", "<s>"}) words.add(text, Json::object());
  words.end = "";
  EXPECT_THAT(refusal_of(words),
              HasSubstr("the tokenizer's end has no name, without which token 2, \"</s>\", ends texts, "
                        "which llama.cpp does not have"));
}

// ---- reading

class ChangedTokenizer {
 public:
  ChangedTokenizer() {
    const auto model = rows_model(kVocabulary);
    const auto tokenizer = Words().tokenizer();
    write(tokenizer);
    const GgufFile file(tokenizer_path());
    for (const auto& name : file.names())
      content_.tensors.push_back(
          {name, GgufType::f32, file.find(name)->shape, [values = file.floats(name)] { return values; }});
    GgufDraft draft{"llama"};
    gguf_family("llama")->describe(model->hf_config(), draft);
    content_.metadata = draft.content.metadata;
    content_.metadata.emplace_back("general.architecture", std::string("llama"));
    for (auto& pair : gguf_tokenizer(tokenizer, Json::object(), kVocabulary).metadata)
      content_.metadata.push_back(std::move(pair));
  }
  ChangedTokenizer& set(const std::string& key, GgufValue value) {
    unset(key);
    content_.metadata.emplace_back(key, std::move(value));
    return *this;
  }
  ChangedTokenizer& unset(const std::string& key) {
    std::erase_if(content_.metadata, [&](const auto& pair) { return pair.first == key; });
    return *this;
  }
  template <class T>
  std::vector<T> list(const std::string& key) const {
    for (const auto& [name, value] : content_.metadata)
      if (name == "tokenizer.ggml." + key) return std::get<std::vector<T>>(value);
    ADD_FAILURE() << key;
    return {};
  }
  template <class T>
  ChangedTokenizer& put(const std::string& key, std::size_t at, T value) {
    auto values = list<T>(key);
    values[at] = std::move(value);
    return set("tokenizer.ggml." + key, values);
  }
  GgufImport read() const {
    checkpoint::write_gguf(tokenizer_path(), content_);
    return import_gguf(tokenizer_path());
  }
  std::string error(ErrorKind kind) const {
    try {
      read();
      return "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), kind) << e.what();
      return e.what();
    }
  }

 private:
  checkpoint::GgufContent content_;
};

// Files of others: no list of merges says that two tokens are equals.
TEST(GgufTokenizer, ReadsEqualScores) {
  ChangedTokenizer changed;
  auto scores = changed.list<float>("scores");
  for (std::size_t i = 264; i < 273; ++i) scores[i] = static_cast<float>(i % 3);
  const auto tokenizer = *changed.set("tokenizer.ggml.scores", scores).read().tokenizer;
  const ByScores llama{GgufFile(tokenizer_path())};
  for (const auto& text : texts(kAtoms))
    ASSERT_EQ(tokenizer.encode(text, false).ids, llama.ids(text)) << Json(text).dump();
  write(tokenizer);  // and writes them again
  EXPECT_EQ(*GgufFile(tokenizer_path()).value("tokenizer.ggml.scores"), Json(scores));
  expect_same_ids(tokenizer, *import_gguf(tokenizer_path()).tokenizer, texts(kAtoms));
}

// A token with a character that is none: é is two bytes.
TEST(GgufTokenizer, ReadsTokensOfCharactersThatAreNone) {
  const auto tokenizer = *ChangedTokenizer().put<std::string>("tokens", 271, "éa").read().tokenizer;
  const ByScores llama{GgufFile(tokenizer_path())};
  for (const auto& text : texts({"é", "a", "é", "b", " "}))
    ASSERT_EQ(tokenizer.encode(text, false).ids, llama.ids(text)) << Json(text).dump();
}

TEST(GgufTokenizer, TakesWhatLlamaCppTakes) {
  ChangedTokenizer changed;
  for (const char* key : {"bos_token_id", "eos_token_id", "unknown_token_id", "add_bos_token",
                          "add_eos_token", "add_space_prefix", "pre"})
    changed.unset(std::string("tokenizer.ggml.") + key);
  const auto back = changed.read();
  EXPECT_EQ(back.tokenizer->bos_id(), 1);
  EXPECT_EQ(back.tokenizer->eos_id(), 2);
  EXPECT_EQ(back.tokenizer->unk_id(), 0);
  EXPECT_EQ(back.generation, (Json{{"bos_token_id", 1}, {"eos_token_id", 2}}));
  EXPECT_EQ(back.tokenizer->encode("a").ids, (std::vector<std::int32_t>{1, 265})) << "<s>▁a";
  EXPECT_EQ(back.tokenizer->decode(std::vector<std::int32_t>{265}), "a");
}

TEST(GgufTokenizer, RefusesWhatIsWrong) {
  const auto corrupt = ErrorKind::Corruption, unsupported = ErrorKind::Unsupported;
  const std::string head = tokenizer_path() + ": GGUF: tokenizer.ggml.";
  const auto hint = "\nhint: fetch the file again, or write it anew";
  EXPECT_EQ(ChangedTokenizer().error(corrupt), "no error");
  EXPECT_EQ(ChangedTokenizer().unset("tokenizer.ggml.scores").error(corrupt),
            head + "scores is missing, but must be a list of numbers, one for each of 290 tokens" + hint);
  EXPECT_EQ(ChangedTokenizer().set("tokenizer.ggml.scores", 3U).error(corrupt),
            head + "scores is 3, but must be a list of numbers, one for each of 290 tokens" + hint);
  EXPECT_EQ(ChangedTokenizer().set("tokenizer.ggml.scores", std::vector<float>{1}).error(corrupt),
            head + "scores has 1 entries, but there are 290 tokens" + hint);
  EXPECT_EQ(ChangedTokenizer()
                .set("tokenizer.ggml.scores", std::vector<std::string>(kVocabulary, "x"))
                .error(corrupt),
            head + "scores has \"x\" for token 0 (\"<unk>\"), but must be finite numbers" + hint);
  for (const auto& [value, text] : {std::pair(std::numeric_limits<float>::quiet_NaN(), "nan"),
                                    std::pair(-std::numeric_limits<float>::infinity(), "-inf")})
    EXPECT_EQ(ChangedTokenizer().put<float>("scores", 260, value).error(corrupt),
              head + "scores has " + text + " for token 260 (\"a\"), but must be finite numbers" + hint);
  EXPECT_EQ(ChangedTokenizer().put<std::string>("tokens", 260, "").error(corrupt),
            head + "tokens has an empty text at 260, but must be texts" + hint);
  EXPECT_EQ(ChangedTokenizer().put<std::string>("tokens", 260, "b").error(corrupt),
            head + "tokens has \"b\" at 260 and at 261, but must be different texts" + hint);
  EXPECT_EQ(ChangedTokenizer().put<std::string>("tokens", 260, std::string(1025, 'a')).error(corrupt),
            head + "tokens has 1025 bytes at 260, but 1024 are the most" + hint);
  EXPECT_THAT(ChangedTokenizer().put<std::string>("tokens", 260, "\xff").error(corrupt),
              HasSubstr("token 260 is no UTF-8"));
  EXPECT_THAT(
      ChangedTokenizer().put<std::string>("tokens", 4, "x").error(unsupported),
      HasSubstr(head + "tokens has no <0x01> among 290 tokens, but all 256 bytes are needed\nhint: import"));
  EXPECT_THAT(ChangedTokenizer().put<std::int32_t>("token_type", 4, kGgufNormal).error(unsupported),
              HasSubstr(head + "token_type is 1 for token 4 (<0x01>), but must be 6, a byte\nhint: import"));
  EXPECT_THAT(ChangedTokenizer().put<std::int32_t>("token_type", 260, kGgufByte).error(unsupported),
              HasSubstr(head + "token_type says of 257 tokens that they are bytes, but there are 256"));
  EXPECT_THAT(ChangedTokenizer().put<std::int32_t>("token_type", 260, 7).error(unsupported),
              HasSubstr(head + "token_type is 7 for token 260 (\"a\"), which BPE by scores does not have"));
  EXPECT_EQ(ChangedTokenizer().set("tokenizer.ggml.token_type", std::vector<std::int32_t>{1}).error(corrupt),
            head + "token_type has 1 entries, but there are 290 tokens" + hint);
  EXPECT_EQ(ChangedTokenizer().set("tokenizer.ggml.unknown_token_id", 290U).error(corrupt),
            head + "unknown_token_id is 290, but there are 290 tokens" + hint);
  EXPECT_EQ(ChangedTokenizer().set("tokenizer.ggml.add_space_prefix", 1U).error(corrupt),
            head + "add_space_prefix is 1, but must be true or false" + hint);
  EXPECT_EQ(ChangedTokenizer().set(std::string(kGgufPrependScheme), std::string("odd")).error(corrupt),
            tokenizer_path() +
                ": GGUF: bora.tokenizer.prepend_scheme is \"odd\", but must be \"always\" or \"first\"" +
                hint);
  for (const auto key : {kGgufNormalizedIds, kGgufAddedIds})
    EXPECT_EQ(ChangedTokenizer().set(std::string(key), std::vector<std::int32_t>{290}).error(corrupt),
              fmt::format("{}: GGUF: {} has 290, but there are 290 tokens{}", tokenizer_path(), key, hint));
  auto equal = ChangedTokenizer()
                   .put<std::int32_t>("token_type", 0, kGgufControl)
                   .unset("tokenizer.ggml.unknown_token_id");
  EXPECT_THAT(
      equal.set("tokenizer.ggml.scores", std::vector<float>(kVocabulary, 1)).error(unsupported),
      HasSubstr(head + "scores has the same one for several tokens, which needs an unknown token among 290"));
}

// The real one, of 32,000 tokens.
TEST(GgufTokenizer, Llama2) {
  const std::string folder = BORA_SHARED_DIR "/data/tokenizers/llama2";
  if (!exists(folder)) GTEST_SKIP() << folder << " is not there: the tokenizer of Llama 2 is not tried";
  const auto tokenizer = Tokenizer::load(folder);
  EXPECT_EQ(write(tokenizer, tokenizer.vocab_size()).size(), 1U);
  const auto back = *import_gguf(tokenizer_path()).tokenizer;
  std::size_t n = 0;
  for (const auto& line : split(read_text(folder + "/cases.jsonl"), '\n')) {
    if (line.empty()) continue;
    const auto json = parse_json(line, "cases.jsonl");
    const auto text = json["text"].get<std::string>();
    ASSERT_EQ(Json(back.encode(text, false).ids), json["ids"]) << json["text"].dump();
    ASSERT_EQ(Json(back.encode(text, true).ids), json["ids_special"]) << json["text"].dump();
    ASSERT_EQ(back.decode(json["ids"].get<std::vector<std::int32_t>>()), json["decoded"])
        << json["text"].dump();
    ++n;
  }
  EXPECT_EQ(n, 417U);
}

}  // namespace
}  // namespace bora::run
