// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// tokenizer.json with bytes changed, taken away and put in: it loads, or fails with an error that names it.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/tokenize/tokenize_test_util.h"

namespace bora {
namespace {

using tokenize::kSentencePiece;
using tokenize::kTiny;

/// A regex, a template and byte level, as in newer tokenizers.
std::string with_regex() {
  std::string json = kTiny;
  const auto put = [&](const std::string& what, const std::string& by) {
    json.replace(json.find(what), what.size(), by);
  };
  put(R"("pre_tokenizer":null)",
      R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":)"
      R"("(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s+(?!\\S)|\\s+"},)"
      R"("behavior":"Isolated","invert":false},)"
      R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})");
  put(R"("normalizer":null)", R"("normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},)"
                              R"({"type":"Replace","pattern":{"Regex":" +"},"content":" "}]})");
  put(R"("post_processor":null)",
      R"("post_processor":{"type":"TemplateProcessing","single":)"
      R"([{"Sequence":{"id":"A","type_id":0}},)"
      R"({"SpecialToken":{"id":"<end>","type_id":0}}],"pair":[],)"
      R"("special_tokens":{"<end>":{"id":"<end>","ids":[7],"tokens":["<end>"]}}})");
  put(R"({"type":"Fuse"})", R"({"type":"ByteLevel"})");
  return json;
}

/// The file without most of its vocabulary and merges: a damaged one is then damaged everywhere, and read
/// fast.
std::string cut_down(const std::string& path) {
  Json json = parse_json(read_text(path), path);
  Json& model = json["model"];
  Json vocabulary = Json::object(), merges = Json::array();
  for (const auto& [token, id] : model["vocab"].items()) {
    const auto number = id.get<int>();
    if (number < 320 || (number >= 29871 && number < 29900)) vocabulary[token] = number;
  }
  for (const Json& token : json["added_tokens"])
    vocabulary[token["content"].get<std::string>()] = token["id"];
  for (const Json& merge : model["merges"]) {
    const bool one = merge.is_string();
    const auto text = one ? merge.get<std::string>() : "";
    const std::string a = one ? text.substr(0, text.find(' ')) : merge[0].get<std::string>();
    const std::string b = one ? text.substr(text.find(' ') + 1) : merge[1].get<std::string>();
    if (vocabulary.contains(a) && vocabulary.contains(b) && vocabulary.contains(a + b))
      merges.push_back(merge);
  }
  EXPECT_GT(merges.size(), 20U);
  model["vocab"] = vocabulary;
  model["merges"] = merges;
  return json.dump();
}

/// One to three bytes changed, taken away or put in.
std::string damaged(std::string text, std::mt19937& random) {
  constexpr std::string_view kJson("\"\\{}[],:-019.eE tfnu\0\xC3\xFF", 23);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t left = 1 + below(3); left > 0; --left) {
    const std::size_t at = below(text.size());
    const char byte = below(2) == 0 ? kJson[below(kJson.size())] : static_cast<char>(below(256));
    switch (below(4)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 2:
        text.erase(at, 1 + below(8));
        break;
      default:
        text.insert(at, 1, byte);
    }
  }
  return text;
}

struct Tally {
  int loaded = 0, refused = 0;
};

/// Loads it, and uses what was loaded. Anything but success or an Error fails the test by escaping.
void load_damaged(const std::string& path, Tally& tally) {
  const std::string text = "abc cab <end> <s>a</s> <|endoftext|>'s 12345 \n\n \xC3\xA9\xE2\x82\xAC!";
  try {
    const Tokenizer t = Tokenizer::load(path);
    ++tally.loaded;
    try {
      std::vector<std::int32_t> ids;
      t.encode_ids(text, ids, true);
      EXPECT_EQ(ids, t.encode(text).ids);
      t.decode(ids);
    } catch (const Error&) {  // a regex may still be one that no text can be matched with in reasonable time
    }
  } catch (const Error& e) {
    ++tally.refused;
    EXPECT_NE(std::string_view(e.what()).find(path), std::string_view::npos) << e.what();
  }
}

void damage_often(const std::string& name, const std::string& json) {
  const std::string folder = path_join(testing::TempDir(), "bora_damaged_" + name);
  files().make_directories(folder);
  const std::string path = path_join(folder, "tokenizer.json");
  std::mt19937 random(20240607);
  Tally tally;
  testing::internal::CaptureStderr();  // warnings about ids that are not what they should be
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(name + " round " + std::to_string(round));
    const auto file = files().create(path);
    file->write(as_bytes(damaged(json, random)));
    file->close();
    load_damaged(path, tally);
  }
  testing::internal::GetCapturedStderr();
  EXPECT_GT(tally.loaded, 10);  // the damage is small enough to get past the parser
  EXPECT_GT(tally.refused, 50);
  remove_all(folder);
}

TEST(DamagedTokenizer, SmallOnes) {
  damage_often("tiny", kTiny);
  damage_often("regex", with_regex());
  damage_often("sentence_piece", kSentencePiece);
}

TEST(DamagedTokenizer, Gpt2AndLlama2) {
  const std::string folder = std::string(BORA_SHARED_DIR) + "/data/tokenizers/";
  if (!exists(folder)) GTEST_SKIP() << "no " << folder << " here";
  for (const std::string name : {"gpt2", "llama2"})
    damage_often(name, cut_down(folder + name + "/tokenizer.json"));
}

}  // namespace
}  // namespace bora
