// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Conversations, questions with answers, token ids and pairs: from records to rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "bora/data/chat_processor.h"
#include "bora/data/formats.h"
#include "bora/data/loader.h"
#include "bora/data/pipeline.h"
#include "bora/data/prebuilt_processor.h"
#include "bora/data/preference_dataset.h"
#include "bora/data/supervised_processor.h"
#include "bora/data/test_datasets.h"

namespace bora::data {
namespace {

using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;
using Floats = std::vector<float>;

const std::vector<std::string> kSpecial = {"<s>", "</s>", "<|u|>", "<|a|>", "<|e|>"};

/// One token for each printable character of ASCII, with five special ones.
Tokenizer characters() {
  Json vocab, added = Json::array();
  for (char c = '!'; c <= '~'; ++c) vocab[std::string(1, c)] = vocab.size();
  vocab["\u0120"] = vocab.size();  // a space
  vocab["\u010A"] = vocab.size();  // a line feed
  for (const auto& token : kSpecial) {
    added.push_back({{"id", vocab.size()},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", token == "<|a|>"},  // takes the white space behind it, as Phi-3's do
                     {"normalized", false},
                     {"special", true}});
    vocab[token] = vocab.size();
  }
  Json level{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  Json json{{"version", "1.0"},
            {"truncation", nullptr},
            {"padding", nullptr},
            {"added_tokens", added},
            {"normalizer", nullptr},
            {"pre_tokenizer", level},
            {"post_processor", nullptr},
            {"decoder", level},
            {"model",
             {{"type", "BPE"},
              {"dropout", nullptr},
              {"unk_token", nullptr},
              {"continuing_subword_prefix", nullptr},
              {"end_of_word_suffix", nullptr},
              {"fuse_unk", false},
              {"byte_fallback", false},
              {"vocab", vocab},
              {"merges", Json::array()}}}};
  return Tokenizer::from_json(json.dump(), R"({"bos_token":"<s>","eos_token":"</s>"})", "characters");
}

const char* const kTemplate =
    "{% for m in messages %}{% if m.role == 'assistant' %}<|a|>{% generation %}{{ m.content }}<|e|>"
    "{% endgeneration %}{% elif m.role == 'system' %}({{ m.content }}){% else %}<|u|>{{ m.content }}<|e|>"
    "{% endif %}{% endfor %}{{ mood }}";

ChatProcessor chat(ChatProcessor::Options options = {}, const ChatTexts& texts = {kTemplate}) {
  return {characters(), texts, std::move(options)};
}

store::EncodedRecord encoded(const store::Processor& processor, const std::string& json) {
  store::EncodedRecord out;
  processor.encode_record(json, out);
  return out;
}

std::string refused(const store::Processor& processor, const std::string& json,
                    ErrorKind kind = ErrorKind::Corruption) {
  return error_of(kind, [&] { encoded(processor, json); });
}

/// The tokens, and below them which count.
std::string shown(const store::EncodedRecord& record) {
  std::string text, marks;
  for (std::size_t i = 0; i < record.ids.size(); ++i) {
    const std::string token = characters().decode(Ids{record.ids[i]});
    text += token;
    marks += std::string(token.size(), record.weights.empty() ? '?' : record.weights[i] > 0 ? '^' : '.');
  }
  return text + "\n" + marks;
}

const std::string kTalk =
    R"({"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"},)"
    R"({"role":"user","content":"ok"},{"role":"assistant","content":"no"}]})";

TEST(ChatProcessor, TheAssistantsTurnsCount) {
  EXPECT_EQ(shown(encoded(chat(), kTalk)),
            "<|u|>hi<|e|><|a|>yes<|e|><|u|>ok<|e|><|a|>no<|e|>\n"
            ".................^^^^^^^^.................^^^^^^^");
  EXPECT_EQ(encoded(chat(), kTalk).ids.size(), 17u) << "special tokens are one id each";
  EXPECT_EQ(encoded(chat(), kTalk).ends, std::vector<std::size_t>{17});
}

TEST(ChatProcessor, OptionsOfTurns) {
  EXPECT_EQ(shown(encoded(chat({.single_turn = true}), kTalk)),
            "<|u|>hi<|e|><|a|>yes<|e|><|u|>ok<|e|><|a|>no<|e|>\n"
            "..........................................^^^^^^^");
  const auto all = chat({.mask_user_turns = false}, {"{% for m in messages %}{{ m.content }}{% endfor %}"});
  EXPECT_EQ(shown(encoded(all, kTalk)), "hiyesokno\n?????????");
  EXPECT_EQ(all.shape(), store::CacheShape{});
}

TEST(ChatProcessor, SpecialTokensInContentAreText) {
  const std::string record =
      R"({"messages":[{"role":"user","content":"x<|e|><|a|>"},{"role":"assistant","content":"</s>"}]})";
  const auto out = encoded(chat(), record);
  EXPECT_EQ(shown(out),
            "<|u|>x<|e|><|a|><|e|><|a|></s><|e|>\n"
            "..........................^^^^^^^^^");
  const auto tokenizer = characters();
  for (const auto& [token, times] : {std::pair{"<|e|>", 2}, {"<|a|>", 1}, {"<|u|>", 1}, {"</s>", 0}})
    EXPECT_EQ(std::count(out.ids.begin(), out.ids.end(), *tokenizer.id_of(token)), times) << token;
}

// Files that list <0x00> to <0xFF> as special: bytes of characters are no control tokens, what is spelled is text.
TEST(ChatProcessor, SpecialBytesStandForCharacters) {
  Json vocab{{"<unk>", 0}, {"a", 1}, {"<0x41>", 2}, {"<0xC3>", 3}, {"<0xA9>", 4}};
  Json added = Json::array();
  for (const auto& [token, id] : vocab.items())
    if (id.get<int>() != 1) added.push_back({{"id", id}, {"content", token}, {"special", true}});
  Json bpe{{"type", "BPE"},
           {"unk_token", "<unk>"},
           {"byte_fallback", true},
           {"vocab", vocab},
           {"merges", Json::array()}};
  Json list = Json::array();
  for (const char* piece : {"<unk>", "a", "<0x41>", "<0xC3>", "<0xA9>"}) list.push_back({piece, -1.0});
  Json unigram{{"type", "Unigram"}, {"unk_id", 0}, {"byte_fallback", true}, {"vocab", list}};
  for (const Json& model : {bpe, unigram}) {
    const auto tokenizer =
        Tokenizer::from_json(Json{{"version", "1.0"}, {"added_tokens", added}, {"model", model}}.dump());
    const ChatProcessor processor(tokenizer, {"{% for m in messages %}{{ m.content }}{% endfor %}"},
                                  {.mask_user_turns = false});
    const auto ids = [&](const std::string& content) {
      return encoded(processor, Json{{"messages", {{{"role", "user"}, {"content", content}}}}}.dump()).ids;
    };
    EXPECT_EQ(ids("aéé"), (Ids{1, 3, 4, 3, 4}));
    const Ids spelled = ids("a<0x41>");
    EXPECT_EQ(std::count(spelled.begin(), spelled.end(), 2), 0);
    EXPECT_EQ(spelled.front(), 1);
    EXPECT_GT(spelled.size(), 1u);
  }
}

TEST(ChatProcessor, WhiteSpaceATokenTakesDoesNotMakeItText) {
  const std::string record =
      R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"  b"}]})";
  const auto out = encoded(chat(), record);
  const auto a = *characters().id_of("<|a|>");
  ASSERT_EQ(std::count(out.ids.begin(), out.ids.end(), a), 1);
}

TEST(ChatProcessor, SystemPromptAndVariables) {
  ChatProcessor::Options options;
  options.fields.system_prompt = "sys";
  const std::string rest = R"("messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],)"
                           R"("chat_template_kwargs":{"mood":"!","add_generation_prompt":true}})";
  const auto text = [&](const std::string& first) {
    const std::string both = shown(encoded(chat(options), "{" + first + rest));
    return both.substr(0, both.find('\n'));
  };
  EXPECT_EQ(text(R"("sys":"be",)"), "(be)<|u|>a<|e|><|a|>b<|e|>!");
  EXPECT_EQ(text(R"("sys":{"content":"good"},)"), "(good)<|u|>a<|e|><|a|>b<|e|>!");
  EXPECT_EQ(text(R"("sys":null,)"), "<|u|>a<|e|><|a|>b<|e|>!");
  EXPECT_EQ(text(""), "<|u|>a<|e|><|a|>b<|e|>!");
}

TEST(ChatProcessor, Refusals) {
  EXPECT_EQ(
      refused(chat(), R"({"message":[]})"),
      "no field \"messages\"; the object has message\nhint: set format.messages_field to the field that "
      "holds it");
  EXPECT_EQ(refused(chat(), R"({"messages":"hi"})"),
            "field \"messages\" should be a list of messages but is \"hi\"");
  EXPECT_EQ(refused(chat(), R"({"messages":[{"role":"user","content":"a"}]})"),
            "the conversation has no assistant's turn, so that none of it counts\nhint: remove it, or set "
            "format.mask_user_turns: false");
  EXPECT_EQ(refused(chat(), "[1]"), "each record should be one JSON object but this one is array");
  EXPECT_EQ(refused(chat(), R"({"messages":[1],"chat_template_kwargs":3})"),
            "field \"chat_template_kwargs\" should be an object but is 3");
  EXPECT_EQ(refused(chat(), R"({"messages":[1],"chat_template_kwargs":{"chat_template":"x"}})",
                    ErrorKind::Unsupported),
            "field \"chat_template_kwargs\" brings a chat_template; all records have the same one");
  EXPECT_EQ(error_of(ErrorKind::Config, [] { chat({}, {"{{ messages }}"}); }),
            "chat: the template does not say what the assistant wrote, so nothing else can be masked\nhint: "
            "enclose it in {% generation %} ... {% endgeneration %}, or set format.mask_user_turns: false");
}

TEST(ChatProcessor, ToolsAndDocumentsReachTheTemplate) {
  const ChatTexts texts{
      "{% for t in tools or [] %}[{{ t.name }}]{% endfor %}{% for d in documents or [] %}({{ d.text }})"
      "{% endfor %}{% generation %}{{ messages[0].content }}{% endgeneration %}"};
  const auto text = [&](const std::string& more) {
    const std::string both = shown(encoded(chat({}, texts), R"({"messages":[{"content":"a"}])" + more + "}"));
    return both.substr(0, both.find('\n'));
  };
  EXPECT_EQ(text(""), "a");
  EXPECT_EQ(text(R"(,"tools":[{"name":"f"},{"name":"g"}],"documents":[{"text":"d"}])"), "[f][g](d)a");
  EXPECT_EQ(text(R"(,"tools":"[{\"name\":\"f\"}]")"), "[f]a") << "a list as JSON text";
  EXPECT_EQ(text(R"(,"tools":null,"documents":"")"), "a");
  EXPECT_EQ(text(R"(,"chat_template_kwargs":{"tools":[{"name":"k"}]})"), "[k]a");
  EXPECT_EQ(text(R"(,"tools":[{"name":"k"}],"chat_template_kwargs":{"tools":[{"name":"k"}]})"), "[k]a");
  const auto wrong = [&](const std::string& more) {
    return refused(chat({}, texts), R"({"messages":[{"content":"a"}],)" + more + "}");
  };
  EXPECT_EQ(wrong(R"("tools":["f"])"),
            "field \"tools\" should be a list of objects, or one as JSON text, but is [\"f\"]");
  EXPECT_EQ(wrong(R"("documents":"no JSON")"),
            "field \"documents\" should be a list of objects, or one as JSON text, but is \"no JSON\"");
  EXPECT_EQ(
      wrong(R"("tools":[{"name":"f"}],"chat_template_kwargs":{"tools":[]})"),
      "\"tools\" is in the record and, another one, in its field \"chat_template_kwargs\"\nhint: keep one");
  EXPECT_EQ(shown(encoded(chat(), R"({"documents":["of any kind"],)" + kTalk.substr(1))),
            shown(encoded(chat(), kTalk)))
      << "a template that asks for none";
}

TEST(ChatProcessor, RecordsWithToolsHaveTheirTemplate) {
  const ChatTexts texts{"{% generation %}plain{% endgeneration %}",
                        "{% generation %}{{ tools | length }} tools{% endgeneration %}"};
  const auto text = [&](const std::string& more) {
    const std::string both = shown(encoded(chat({}, texts), R"({"messages":[{"content":"a"}])" + more + "}"));
    return both.substr(0, both.find('\n'));
  };
  EXPECT_EQ(text(""), "plain");
  EXPECT_EQ(text(R"(,"tools":[{}])"), "1 tools");
  EXPECT_EQ(text(R"(,"tools":null)"), "plain");
  EXPECT_EQ(error_of(ErrorKind::Config, [&] { chat({}, {texts.text, "{{ tools }}"}); }),
            "chat: the template tool_use does not say what the assistant wrote, so nothing else can be "
            "masked\nhint: enclose it in {% generation %} ... {% endgeneration %}, or set "
            "format.mask_user_turns: false");
  EXPECT_NE(chat({}, texts).fingerprint(), chat({}, {texts.text}).fingerprint());
}

TEST(ChatProcessor, ReasoningIsLearned) {
  const ChatTexts texts{
      "{% generation %}<{{ messages[0].reasoning_content }}>{{ messages[0].content }}"
      "{% endgeneration %}"};
  for (const std::string name : {"thinking", "reasoning", "reasoning_content"}) {
    EXPECT_EQ(shown(encoded(chat({}, texts), R"({"messages":[{"content":"a",")" + name + R"(":"hm"}]})")),
              "<hm>a\n^^^^^")
        << name;
  }
}

TEST(ChatProcessor, TheDateIsGivenOrMissed) {
  const ChatTexts texts{"{% generation %}{{ strftime_now('%Y-%m-%d') }}{% endgeneration %}"};
  const std::string record = R"({"messages":[{"content":"a"}]})";
  EXPECT_THAT(refused(chat({}, texts), record, ErrorKind::InvalidArgument),
              HasSubstr("hint: a fixed one, for example format.chat_date: 2024-07-26"));
  EXPECT_THAT(shown(encoded(chat({.date = parse_date("2024-07-26")}, texts), record)),
              testing::StartsWith("2024-07-26\n"));
  EXPECT_NE(chat({.date = 0}).fingerprint(), chat().fingerprint());
}

TEST(ChatProcessor, Dates) {
  EXPECT_EQ(parse_date("1970-01-02"), 86400);
  EXPECT_EQ(parse_date("1970-01-01T01:02:03"), 3723);
  EXPECT_EQ(parse_date("2024-02-29"), 1709164800);
  EXPECT_EQ(parse_date("1969-12-31T23:59:59"), -1);
  for (const char* wrong :
       {"", "today", "2024-2-29", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-01T24:00:00",
        "2024-01-01 10:00:00", "2024-01-01T10:00:0x", "-024-01-01", "2024-01-01T10:60:00"})
    EXPECT_EQ(parse_date(wrong), std::nullopt) << wrong;
}

TEST(ChatProcessor, TemplatesAreFound) {
  const store::TemporaryFolder folder("chat-template");
  const auto plain = characters();
  EXPECT_EQ(chat_templates("{{ x }}", plain, "nowhere").text, "{{ x }}");
  EXPECT_EQ(chat_templates(folder.write("t.jinja", "{{ y }}"), plain, "nowhere").text, "{{ y }}");
  EXPECT_EQ(
      error_of(ErrorKind::Config, [&] { chat_templates("none/t.jinja", plain, "nowhere"); }),
      "chat: chat_template: there is no file none/t.jinja\nhint: give the path of a template, relative to "
      "the folder in which bora was started, or its text");
  EXPECT_EQ(error_of(ErrorKind::Config, [&] { chat_templates({}, plain, "my-folder"); }),
            "chat: the tokenizer my-folder has no chat template\nhint: data.chat_template, as text or the "
            "path of a .jinja file");
  const auto loaded = [&] {
    plain.save(folder / "t");  // replaced below
    return Tokenizer::load(folder / "t");
  };
  const auto with_config = [&](const std::string& config) {
    loaded();
    folder.write("t/tokenizer_config.json", config);
    return Tokenizer::load(folder / "t");
  };
  const auto configured = with_config(R"({"bos_token":"<s>","chat_template":"{{ z }}"})");
  EXPECT_EQ(chat_templates({}, configured, "").text, "{{ z }}");
  EXPECT_EQ(chat_templates({}, Tokenizer::load(folder / "t/tokenizer.json"), "").text, "{{ z }}")
      << "the file beside it";
  EXPECT_EQ(configured.special_tokens().at("bos_token"), "<s>");
  const auto several = with_config(
      R"({"chat_template":[{"name":"tool_use","template":"no"},{"name":"default","template":"d"}]})");
  EXPECT_EQ(chat_templates({}, several, "").text, "d");
  EXPECT_EQ(chat_templates({}, several, "").with_tools, "no");
  EXPECT_EQ(chat_templates("given", several, "").with_tools, std::nullopt);
  folder.write("t/chat_template.jinja", "file");
  EXPECT_EQ(chat_templates({}, Tokenizer::load(folder / "t"), "").text, "file");
  EXPECT_EQ(chat_templates({}, Tokenizer::load(folder / "t"), "").with_tools, std::nullopt)
      << "not of the list";
}

TEST(ChatProcessor, TheTemplateOfARun) {
  DataConfig config;
  EXPECT_EQ(configured_chat_template(config), std::nullopt);
  config.chat_template = "all";
  EXPECT_EQ(configured_chat_template(config), "all");
  config.configs = {{"a", {}}, {"b", {}}};
  ChatFormat of_a;
  of_a.chat_template = "a";
  config.configs[0].second.format = {"chat", of_a};
  EXPECT_EQ(configured_chat_template(config), "a");
  config.configs[1].second.format = FormatChoice("chat");
  EXPECT_EQ(configured_chat_template(config), "all") << "two of them";
}

TEST(SupervisedProcessor, TheAnswerCounts) {
  const TokenizerProcessor text(characters(), true);
  const SupervisedProcessor processor(text, {.separate_with = ":"});
  const std::string record = R"({"prompt":"1+1","response":"2"})";
  EXPECT_EQ(shown(encoded(processor, record)), "<s>1+1:2</s>\n.......^^^^^");
  EXPECT_EQ(encoded(processor, record).ids.size(), 7u);
  EXPECT_EQ(shown(encoded(SupervisedProcessor(text, {.mask_inputs = false}), record)),
            "<s>1+12</s>\n???????????");
  EXPECT_EQ(
      refused(processor, R"({"prompt":"1","answer":"2"})"),
      "no field \"response\"; the object has prompt, answer\nhint: set format.output_field to the field "
      "that holds it");
  EXPECT_EQ(refused(processor, R"({"prompt":3,"response":"2"})"),
            "field \"prompt\" should be a string but is 3");
  EXPECT_NE(processor.fingerprint(), SupervisedProcessor(text, {}).fingerprint());
}

TEST(PrebuiltProcessor, IdsAndWeightsOfPositions) {
  const PrebuiltProcessor plain(10, "ids", {}), weighted(10, "ids", "w");
  EXPECT_EQ(encoded(plain, R"({"ids":[1,2,9]})").ids, (Ids{1, 2, 9}));
  const auto out = encoded(weighted, R"({"ids":[1,2,9],"w":[0.5,2,7]})");
  EXPECT_EQ(out.weights, (Floats{0, 0.5, 2})) << "of the token that is predicted";
  EXPECT_EQ(refused(plain, R"({"ids":[1,10]})"),
            "field \"ids\": item 1 is 10 but ids are whole numbers from 0 to 9");
  EXPECT_EQ(refused(plain, R"({"ids":[1.5]})"),
            "field \"ids\": item 0 is 1.5 but ids are whole numbers from 0 to 9");
  EXPECT_EQ(refused(plain, R"({"id":[1]})"),
            "no field \"ids\"\nhint: set format.input_ids_key to the field that holds it");
  EXPECT_EQ(refused(plain, R"({"ids":"x"})"), "field \"ids\" should be a list but is \"x\"");
  EXPECT_EQ(refused(weighted, R"({"ids":[1,2],"w":[1]})"), "field \"w\" has 1 weights for 2 ids");
  EXPECT_EQ(refused(weighted, R"({"ids":[1],"w":[-1]})"),
            "field \"w\": a weight is -1 but should be a number, at least 0");
  EXPECT_THAT(refused(plain, R"({"ids":[1)"), HasSubstr("each record should be one JSON object: "));
  EXPECT_EQ(error_of(ErrorKind::Config, [] { PrebuiltProcessor(0, "ids", {}); }),
            "data.vocab_size: 0 but a vocabulary has at least 1 token");
}

/// Whole configurations of such data.
class Formats : public testing::Test {
 protected:
  Formats() : folder_("formats") {
    config_.cache_dir = folder_ / "cache";
    config_.tokenizer = folder_ / "none";
    config_.chat_template = kTemplate;
    config_.stop_strategy = "first_exhausted";
  }
  SourceConfig& lines(const std::string& text) {
    config_.single.train_urls = {folder_.write("a.jsonl", text)};
    return config_.single;
  }
  std::vector<SourceCaches> caches() {
    return build_caches(config_, TokenizerProcessor(characters(), true), 1);
  }
  Batch batch(std::int64_t seq_len, std::int64_t size = 1) {
    const auto datasets = make_datasets(config_, caches(), seq_len, {}, size, Key::from_seed(1));
    return Loader(datasets.train, size).batch(0);
  }
  store::NoSyncFiles no_sync_;
  ScopedFileSystem scope_{no_sync_};
  store::TemporaryFolder folder_;
  DataConfig config_;
};

TEST_F(Formats, ConversationsArePacked) {
  lines(kTalk + "\n" + R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]})" +
        "\n")
      .format = FormatChoice("chat");
  const Batch b = batch(100);
  EXPECT_EQ(b.segments[0], 0);
  EXPECT_EQ(b.segments[16], 0);
  EXPECT_EQ(b.segments[17], 1);
  EXPECT_EQ(b.segments[22], 1);
  EXPECT_EQ(b.segments[23], -1);
  const float sum = std::accumulate(b.loss_weights.begin(), b.loss_weights.end(), 0.0F);
  EXPECT_EQ(sum, 4 + 3 + 2) << "each token that the assistant wrote";
  EXPECT_EQ(b.loss_weights[4], 1) << "<|a|> predicts the first of them";
  EXPECT_EQ(b.loss_weights[8], 0) << "<|e|> predicts what the user writes";
}

TEST_F(Formats, ACacheOfRecordsSaysSo) {
  lines(kTalk).format = FormatChoice("chat");
  const auto cache = caches()[0].train;
  EXPECT_TRUE(cache->weighted());
  EXPECT_THAT(read_text(folder_ / "cache/train/ledger.json"),
              testing::AllOf(HasSubstr("\"version\": 2"), HasSubstr("\"weighted\": true")));
  cache->verify();
  EXPECT_EQ(cache->num_bytes(), 49);
  config_.single.format.config.as<ChatFormat>().mask_user_turns = false;
  EXPECT_THAT(error_of(ErrorKind::Config, [&] { caches(); }), HasSubstr("it was made with tokenizer"));
}

TEST_F(Formats, SameBytesForAnyNumberOfThreads) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += R"({"messages":[{"role":"user","content":")" +
            std::string(static_cast<std::size_t>(i % 37), 'q') +
            R"("},{"role":"assistant","content":"a"}]})" + "\n";
  }
  lines(text);
  const auto build = [&](const std::string& name, int threads) {
    store::build_cache(folder_ / name, config_.single.train_urls, chat(),
                       {.threads = threads, .shard_bytes = 3000});
    return store::contents(folder_ / name);
  };
  const auto one = build("one", 1);
  EXPECT_GT(one.size(), 3u * 5);
  EXPECT_EQ(build("three", 3), one);
}

TEST_F(Formats, QuestionsAndTheirAnswers) {
  lines("{\"prompt\":\"ab\",\"response\":\"c\"}\n").format = FormatChoice("supervised");
  const Batch b = batch(8);
  EXPECT_EQ(b.loss_weights, (Floats{0, 0, 1, 1, 0, 0, 0, 0}));
}

TEST_F(Formats, ErrorsHaveFileAndLine) {
  lines("{\"prompt\":\"ab\",\"response\":\"c\"}\n\n{\"prompt\":\"ab\"}\n").format =
      FormatChoice("supervised");
  EXPECT_THAT(error_of(ErrorKind::Corruption, [&] { caches(); }),
              HasSubstr("data set data: " + (folder_ / "a.jsonl") + ":3: no field \"response\""));
  lines("{\"prompt\":\"\xff\"}\n");
  EXPECT_THAT(error_of(ErrorKind::Corruption, [&] { caches(); }),
              HasSubstr("a.jsonl:1: invalid UTF-8 at byte 11"));
  config_.single.train_urls = {folder_.write("a.txt", "text")};
  EXPECT_THAT(
      error_of(ErrorKind::Config, [&] { caches(); }),
      HasSubstr("a.txt is text, but this data set's records are JSON objects\nhint: give .jsonl files, "
                "or format.type: text"));
}

TEST_F(Formats, IdsWithoutATokenizer) {
  lines("{\"input_ids\":[1,2,3,4]}\n{\"input_ids\":[5,6]}\n").format = FormatChoice("prebuilt");
  config_.tokenizer = "passthrough";
  EXPECT_EQ(error_of(ErrorKind::Config, [&] { build_passthrough_caches(config_); }),
            "data set data: data.tokenizer: passthrough needs data.vocab_size");
  config_.vocab_size = 7;
  const auto built = build_passthrough_caches(config_);
  EXPECT_EQ(built[0].train->tokens(0, 6), (Ids{1, 2, 3, 4, 5, 6}));
  const auto datasets = make_datasets(config_, built, 4, {}, 2, Key::from_seed(1));
  EXPECT_EQ(datasets.train->size(), 2) << "one document each";
  config_.single.format = FormatChoice("text");
  EXPECT_THAT(error_of(ErrorKind::Config, [&] { build_passthrough_caches(config_); }),
              HasSubstr("passthrough is for prebuilt records, but these are text\nhint: give a tokenizer"));
}

TEST_F(Formats, Pairs) {
  const std::string user = R"({"role":"user","content":"q"})";
  const auto answer = [](const std::string& text) {
    return R"({"role":"assistant","content":")" + text + "\"}";
  };
  std::string text;
  for (int i = 0; i < 5; ++i) {
    text += R"({"chosen":[)" + user + "," + answer(std::string(static_cast<std::size_t>(i) + 1, 'y')) +
            R"(],"rejected":[)" + user + "," + answer("n") + "]}\n";
  }
  lines(text).format = FormatChoice("preference_chat");
  const auto& format = config_.single.format;
  const auto cache = store::build_cache(folder_ / "pairs", config_.single.train_urls,
                                        *make_processor(format, config_, characters()));
  EXPECT_EQ(cache->num_documents(), 10);
  const PreferenceDataset pairs(cache, 12, {});
  EXPECT_EQ(pairs.size(), 5);
  OneRow chosen(12), rejected(12);
  pairs.read(3, chosen.row(), rejected.row());
  const auto id = [](const char* c) { return *characters().id_of(c); };
  EXPECT_EQ(std::count(chosen.tokens.begin(), chosen.tokens.end(), id("y")), 4);
  EXPECT_EQ(std::count(rejected.tokens.begin(), rejected.tokens.end(), id("n")), 1);
  EXPECT_EQ(std::accumulate(chosen.loss_weights.begin(), chosen.loss_weights.end(), 0.0F), 5);
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { pairs.read(5, chosen.row(), rejected.row()); }),
            "preference: pair 5 is outside of its 5");
  EXPECT_THAT(error_of(ErrorKind::Config, [&] { PreferenceDataset(cache, 9, {}); }),
              HasSubstr("packing: document 8 has 10 tokens but a sequence has 9"));
  EXPECT_EQ(refused(*make_processor(format, config_, characters()), R"({"chosen":[]})"),
            "field \"chosen\" should be a list of messages but is []");
  config_.single.format = FormatChoice("chat");
  const auto other = store::build_cache(folder_ / "other", {folder_.write("b.jsonl", kTalk)},
                                        *make_processor(format, config_, characters()));
  EXPECT_THAT(error_of(ErrorKind::Config, [&] { PreferenceDataset(other, 9, {}); }),
              HasSubstr("is not of pairs\nhint: format.type: preference_chat"));
}

// A format as a user's own program would have it: notes, one a line, of which only long ones are kept.
struct NotesFormat : FormatConfig {
  std::int64_t least = 1;
  void bind(Binder& b) { b.field("least", least, at_least(1), "characters that a note must have"); }
  std::unique_ptr<store::Processor> make(const DataConfig&, const Tokenizer& tokenizer) const override {
    struct Notes final : store::Processor {
      Notes(Tokenizer t, std::int64_t n) : tokenizer(std::move(t)), least(n) {}
      std::string fingerprint() const override { return fmt::format("notes of {}", least); }
      std::int64_t vocab_size() const override { return tokenizer.vocab_size(); }
      void encode(const store::TextPiece&, std::vector<std::int32_t>&) const override {}
      bool takes_records() const override { return true; }
      void encode_record(std::string_view json, store::EncodedRecord& out) const override {
        const auto note = parse_json(std::string(json), "record").at("note").get<std::string>();
        if (static_cast<std::int64_t>(note.size()) < least) return;
        for (const char c : note) out.ids.push_back(*tokenizer.id_of(std::string(1, c)));
        out.ends.push_back(out.ids.size());
      }
      Tokenizer tokenizer;
      std::int64_t least;
    };
    return std::make_unique<Notes>(tokenizer, least);
  }
  Packing packing() const override { return {.documents = 2, .overlong = "drop"}; }
};

TEST_F(Formats, OneFromOutside) {
  const auto before = format_types();
  format_types().add("notes", {"a note in each record", NotesFormat()});
  ConfigTree tree;
  tree.merge_text("{type: notes, least: 2}", "my.yaml");
  FormatChoice format;
  EXPECT_TRUE(read_config(tree, format).empty());
  EXPECT_EQ(write_config(format),
            "type: notes\nleast: 2\ninvalid_utf8: refuse\npack: null\nslice_strategy: null\n");
  lines("{\"note\":\"ab\"}\n{\"note\":\"a\"}\n{\"note\":\"qqq\"}\n").format = format;
  const Batch b = batch(6);
  const auto id = [](const char* c) { return *characters().id_of(c); };
  EXPECT_EQ(Ids(b.tokens.begin(), b.tokens.begin() + 5), (Ids{id("a"), id("b"), id("q"), id("q"), id("q")}));
  EXPECT_EQ(b.segments[1], 0);
  EXPECT_EQ(b.segments[2], 1);
  ConfigTree wrong;
  wrong.merge_text("{type: notes, leest: 2, pack: some}", "my.yaml");
  std::vector<std::string> problems;
  for (const auto& p : read_config(wrong, format)) problems.push_back(p.key + ": " + p.message);
  EXPECT_THAT(problems,
              testing::UnorderedElementsAre(
                  "leest: unknown key; did you mean least?",
                  "pack = some: should be true, false, pad, concat or a number of documents, at least 1"));
  format_types() = before;
}

}  // namespace
}  // namespace bora::data
