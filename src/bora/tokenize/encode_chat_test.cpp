// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/encode_chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/tokenize/tokenize_test_util.h"

namespace bora {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string tokens_of(const Tokenizer& t, const std::vector<std::int32_t>& ids) {
  std::string out;
  for (const std::int32_t id : ids) out += (out.empty() ? "" : " ") + *t.token(id);
  return out;
}

ChatText chat_of(const std::vector<std::pair<std::string, bool>>& segments) {
  ChatText chat;
  for (const auto& [text, control] : segments) {
    chat.segments.push_back({{chat.text.size(), chat.text.size() + text.size()}, control});
    chat.text += text;
  }
  return chat;
}

TEST(EncodeChat, SpecialTokensOnlyInControlText) {
  const Tokenizer t = Tokenizer::from_json(tokenize::kTiny);
  const auto encode = [&](const std::vector<std::pair<std::string, bool>>& segments) {
    return encode_chat(t, chat_of(segments)).ids;
  };
  EXPECT_THAT(encode({{"ab", false}, {"<end>", true}}), ElementsAre(4, 7));
  EXPECT_THAT(encode({{"ab<end>", false}, {"c<end>", true}}), Contains(7).Times(1));
  EXPECT_THAT(encode({{"ab<end>", false}}), Not(Contains(7)));
  EXPECT_THAT(encode({{"<en", true}, {"d>", false}}), Not(Contains(7)));  // half and half
  EXPECT_THAT(encode({{"<<en", false}, {"d><end>", true}}), Contains(7).Times(1));
  EXPECT_THAT(encode({{"a", true}, {"b", false}, {"c", true}}), ElementsAre(5));  // words do not fall apart
  EXPECT_THAT(encode({}), ElementsAre());
}

TEST(EncodeChat, NormalizedSpecialTokens) {  // as in Llama 2's file
  std::string json = tokenize::kSentencePiece;
  for (std::size_t at = 0; (at = json.find("\"normalized\":false", at)) != std::string::npos;)
    json.replace(at, 18, "\"normalized\":true");
  const Tokenizer t = Tokenizer::from_json(json);
  EXPECT_EQ(tokens_of(t, encode_chat(t, chat_of({{"<s>", true}, {"a", false}})).ids), "<s> a");
  EXPECT_THAT(encode_chat(t, chat_of({{"<s>", false}, {"a", false}})).ids, Not(Contains(1)));
  EXPECT_THAT(encode_chat(t, chat_of({{"a <s>b", false}, {" <s>", true}})).ids, Contains(1).Times(1));
}

TEST(EncodeChat, AssistantTokens) {
  const Tokenizer t = Tokenizer::from_json(tokenize::kTiny);
  const ChatText chat = ChatTemplate::parse(
                            "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}"
                            "{{ m.content }}<end>{% endgeneration %}{% else %}{{ m.content }}<end>"
                            "{% endif %}{% endfor %}")
                            .render(Json::array({{{"role", "user"}, {"content", "ab<end> c"}},
                                                 {{"role", "assistant"}, {"content", "abc"}},
                                                 {{"role", "user"}, {"content", "c"}}}));
  const ChatEncoding encoding = encode_chat(t, chat);
  std::string trained;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    if (encoding.assistant[i] != 0) trained += *t.token(encoding.ids[i]) + "|";
  }
  EXPECT_EQ(trained, "abc|<end>|");
  EXPECT_THAT(encoding.ids, Contains(7).Times(3));
  EXPECT_EQ(encoding.offsets.size(), encoding.ids.size());
}

TEST(EncodeChat, RealTokenizersNeverTakeControlIdsFromContent) {
  for (const char* name :
       {"gpt2", "phi-2", "whisper-tiny", "qwen2", "clip", "llama2", "all-minilm-l6-v2", "t5-small"}) {
    const std::string folder = std::string(BORA_SHARED_DIR) + "/data/tokenizers/" + name;
    if (!exists(folder + "/tokenizer.json")) GTEST_SKIP() << "no " << folder << " here";
    const Tokenizer t = Tokenizer::load(folder);
    for (std::int32_t id = 0; id < t.vocab_size(); ++id) {
      if (!t.is_special(id) || t.unk_id() == id) continue;
      const std::string spelling = *t.token(id);
      const ChatEncoding encoding =
          encode_chat(t, chat_of({{"x ", true}, {"a " + spelling + spelling + " b", false}, {" y", true}}));
      const auto special = [&](std::int32_t i) { return t.is_special(i) && t.unk_id() != i; };
      EXPECT_EQ(std::count_if(encoding.ids.begin(), encoding.ids.end(), special), 0)
          << name << " " << spelling;
      const ChatEncoding meant = encode_chat(t, chat_of({{"x ", false}, {" " + spelling, true}}));
      EXPECT_THAT(meant.ids, Contains(id)) << name << " " << spelling;
    }
  }
}

TEST(EncodeChat, RefusesWhatIsNotUtf8) {
  ChatText chat;
  chat.text = "\xFF";
  try {
    encode_chat(Tokenizer::from_json(tokenize::kTiny), chat);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("encode_chat: the conversation's text is not UTF-8"));
  }
}

}  // namespace
}  // namespace bora
