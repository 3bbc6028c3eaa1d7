// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Each component against `tokenizers`, on random texts. Normalizers and pre-tokenizers come before a model
// whose tokens are single bytes: of BPE, so that offsets show what each character stands for, and of Unigram,
// so that they show where pieces begin and end.
#include <functional>
#include <utility>

#include "bora/base/error.h"
#include "bora/tokenize/oracle_test_util.h"
#include "bora/tokenize/post/framing.h"
#include "bora/tokenize/pretokenize/scanner.h"

namespace bora::tokenize {
namespace {

constexpr std::string_view kOracleScript = R"PY(
import json, sys
from tokenizers import Tokenizer
def framed(e):
    return [e.ids, e.type_ids, [x for o in e.offsets for x in o], [1 - a for a in e.attention_mask],
            [framed(o) for o in e.overflowing]]
out = open(sys.argv[2], "w")
for line in open(sys.argv[1], encoding="utf-8"):
    job = json.loads(line)
    try:
        if "tokenizer" in job:
            tokenizer = Tokenizer.from_str(json.dumps(job["tokenizer"]))
            answer = "ready"
        elif "ids" in job:
            answer = tokenizer.decode(job["ids"], skip_special_tokens=job["skip"]).encode("utf-8").hex()
        elif "frame" in job:
            answer = json.dumps(framed(tokenizer.encode(*job["frame"], add_special_tokens=job["special"])),
                                separators=(",", ":"))
        else:
            e = tokenizer.encode(job["text"], add_special_tokens=False)
            offsets = [x for o in e.offsets for x in o]
            answer = json.dumps([e.ids, offsets] if job["offsets"] else e.ids, separators=(",", ":"))
    except BaseException:
        answer = "error"
    out.write(answer + "\n")
)PY";

std::string byte_pieces(std::string_view entry, int first) {
  std::string out;
  for (int b = 0; b < 256; ++b) {
    out += fmt::format(fmt::runtime(entry), fmt::arg("byte", fmt::format("<0x{:02X}>", b)),
                       fmt::arg("id", b + first));
  }
  return out;
}

const std::string kUnigramBytes =
    R"({"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["<unk>",0.0])" +
    byte_pieces(R"(,["{byte}",0.0])", 1) + "]}";
const std::string kBpeBytes =
    R"({"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,)"
    R"("end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":true,"merges":[],"vocab":{"<unk>":0)" +
    byte_pieces(R"(,"{byte}":{id})", 1) + "}}";

struct Parts {
  std::string normalizer = "null", pre_tokenizer = "null", post_processor = "null", decoder = "null",
              model = kBpeBytes, added = "[]", truncation = "null", padding = "null";
  std::string json() const {
    return fmt::format(
        R"({{"version":"1.0","truncation":{},"padding":{},"added_tokens":{},"normalizer":{},"pre_tokenizer":{},)"
        R"("post_processor":{},"decoder":{},"model":{}}})",
        truncation, padding, added, normalizer, pre_tokenizer, post_processor, decoder, model);
  }
};

std::string shown(const Encoding& e) {
  std::vector<std::int64_t> offsets;
  for (const auto& o : e.offsets) offsets.insert(offsets.end(), {o.begin, o.end});
  return "[" + numbers(e.ids) + "," + numbers(offsets) + "]";
}

std::string shown(const FramedEncoding& e) {
  std::vector<std::int64_t> offsets;
  for (const auto& o : e.offsets) offsets.insert(offsets.end(), {o.begin, o.end});
  std::string overflow;
  for (const auto& o : e.overflow) overflow += (overflow.empty() ? "" : ",") + shown(o);
  return fmt::format("[{},{},{},{},[{}]]", numbers(e.ids), numbers(e.type_ids), numbers(offsets),
                     numbers(e.is_padding), overflow);
}

class TokenizersOracle : public Oracle {
 protected:
  struct Job {
    std::string json, what;
    std::function<std::string()> ours;
  };

  /// Compares what Bora makes of the jobs. Where `tokenizers` gives up, Bora may, but only with an Error.
  void compare(const std::string& tokenizer, const std::vector<Job>& jobs) {
    std::string lines = "{\"tokenizer\":" + tokenizer + "}\n";
    for (const Job& job : jobs) lines += job.json + "\n";
    const auto answers = run(kOracleScript, lines);
    ASSERT_EQ(answers.size(), jobs.size() + 1);
    ASSERT_EQ(answers[0], "ready") << tokenizer.substr(0, 600);
    int wrong = 0;
    for (std::size_t i = 0; i < jobs.size() && wrong < 5; ++i) {
      std::string ours;
      try {
        ours = jobs[i].ours();
      } catch (const Error& e) {
        ours = "error";
      }
      if (answers[i + 1] == "error") continue;
      EXPECT_EQ(ours, answers[i + 1]) << jobs[i].what << "\n" << tokenizer.substr(0, 700);
      wrong += ours != answers[i + 1] ? 1 : 0;
    }
  }

  void compare_texts(const Parts& parts, const std::vector<std::string>& texts, bool offsets = true) {
    const Tokenizer ours = Tokenizer::from_json(parts.json());
    std::vector<Job> jobs;
    for (const std::string& text : texts) {
      jobs.push_back({fmt::format(R"({{"text":{},"offsets":{}}})", json_string(text), offsets),
                      json_string(text), [&ours, &text, offsets] {
                        const Encoding e = ours.encode(text, false);
                        std::vector<std::int32_t> fast;
                        ours.encode_ids(text, fast);
                        EXPECT_EQ(fast, e.ids) << json_string(text);
                        return offsets ? shown(e) : numbers(e.ids);
                      }});
    }
    compare(parts.json(), jobs);
  }

  /// Both models of bytes.
  void compare_cuts(Parts parts, const std::vector<std::string>& texts) {
    compare_texts(parts, texts);
    parts.model = kUnigramBytes;
    compare_texts(parts, texts);
  }

  static std::vector<std::string> any_texts(std::uint64_t seed, std::uint32_t longest = 24) {
    RandomTexts random(seed);
    std::vector<std::string> texts;
    for (int i = 0; i < oracle_texts(); ++i) texts.push_back(random.any(longest));
    return texts;
  }
  static std::vector<std::string> texts_of(const std::vector<std::string>& atoms, std::uint64_t seed,
                                           std::uint32_t longest = 20) {
    RandomTexts random(seed);
    std::vector<std::string> texts;
    for (int i = 0; i < oracle_texts(); ++i) texts.push_back(random.of(atoms, longest));
    return texts;
  }
  /// Every code point once, between letters.
  static std::vector<std::string> all_characters() {
    std::vector<std::string> texts;
    std::string text;
    for (char32_t c = 0; c < kCodePoints; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      text += 'x';
      append_utf8(text, c);
      if (c % 64 == 63) texts.push_back(std::exchange(text, ""));
    }
    return texts;
  }
};

std::string charsmap_of_t5() {
  const std::string path = std::string(BORA_SHARED_DIR) + "/data/tokenizers/t5-small/tokenizer.json";
  if (!exists(path)) return "";
  const JsonDocument document(read_text(path), path);
  return document.root().at("normalizer").json();
}

std::vector<std::string> normalizers() {
  std::vector<std::string> all = {
      R"({"type":"NFC"})",
      R"({"type":"NFD"})",
      R"({"type":"NFKC"})",
      R"({"type":"NFKD"})",
      R"({"type":"Nmt"})",
      R"({"type":"StripAccents"})",
      R"({"type":"Lowercase"})",
      R"({"type":"ByteLevel"})",
      R"({"type":"Strip","strip_left":true,"strip_right":true})",
      R"({"type":"Strip","strip_left":true,"strip_right":false})",
      R"({"type":"Strip","strip_left":false,"strip_right":true})",
      R"({"type":"Prepend","prepend":"▁"})",
      R"({"type":"Prepend","prepend":"ab"})",
      R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})",
      R"({"type":"Replace","pattern":{"String":"a"},"content":""})",
      R"({"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "})",
      R"({"type":"Replace","pattern":{"Regex":"[^\\w\\s]+"},"content":"<xé>"})",
      R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":"▁"})",
      R"({"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"},{"type":"StripAccents"}]})",
      R"({"type":"Sequence","normalizers":[{"type":"Nmt"},{"type":"NFKC"},)"
      R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]})",
      R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},)"
      R"({"type":"Replace","pattern":{"String":" "},"content":"▁"}]})",
      R"({"type":"Sequence","normalizers":[]})"};
  for (int flags = 0; flags < 24; ++flags) {
    const char* strip[] = {"null", "true", "false"};
    all.push_back(fmt::format(
        R"({{"type":"BertNormalizer","clean_text":{},"handle_chinese_chars":{},"strip_accents":{},"lowercase":{}}})",
        (flags & 1) != 0, (flags & 2) != 0, strip[flags / 8], (flags & 4) != 0));
  }
  if (const std::string t5 = charsmap_of_t5(); !t5.empty()) all.push_back(t5);
  return all;
}

TEST_F(TokenizersOracle, Normalizers) {
  std::uint64_t seed = 1;
  for (const std::string& normalizer : normalizers()) {
    Parts parts;
    parts.normalizer = normalizer;
    compare_texts(parts, any_texts(seed++));
  }
}

TEST_F(TokenizersOracle, NormalizersOnEveryCharacter) {
  const auto texts = all_characters();
  for (const char* type : {"NFC", "NFD", "NFKC", "NFKD", "Nmt", "StripAccents", "Lowercase"}) {
    Parts parts;
    parts.normalizer = fmt::format(R"({{"type":"{}"}})", type);
    compare_texts(parts, texts);
  }
  Parts parts;
  parts.normalizer = normalizers()[normalizers().size() - 2];
  compare_texts(parts, texts);
  if (const std::string t5 = charsmap_of_t5(); !t5.empty()) {
    parts.normalizer = t5;
    compare_texts(parts, texts);
  }
}

const std::vector<std::string>& behaviors() {
  static const std::vector<std::string> all = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                               "Contiguous"};
  return all;
}

std::vector<std::string> pre_tokenizers() {
  std::vector<std::string> all = {
      R"({"type":"BertPreTokenizer"})",
      R"({"type":"Whitespace"})",
      R"({"type":"WhitespaceSplit"})",
      R"({"type":"UnicodeScripts"})",
      R"({"type":"FixedLength","length":3})",
      R"({"type":"Digits","individual_digits":true})",
      R"({"type":"Digits","individual_digits":false})",
      R"({"type":"CharDelimiterSplit","delimiter":"e"})",
      R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},)"
      R"({"type":"Metaspace","replacement":"▁","str_rep":"▁","add_prefix_space":true}]})",
      R"({"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Contiguous"},)"
      R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true},)"
      R"({"type":"Digits","individual_digits":false},)"
      R"({"type":"Split","pattern":{"Regex":"[0-9][0-9][0-9]"},"behavior":"Isolated","invert":false}]})",
      R"({"type":"Sequence","pretokenizers":[]})"};
  for (const std::string& b : behaviors()) {
    all.push_back(fmt::format(R"({{"type":"Punctuation","behavior":"{}"}})", b));
    for (const bool invert : {false, true}) {
      for (const char* pattern : {R"({"String":"a"})", R"({"Regex":"\\w+|[^\\w\\s]+"})",
                                  R"({"Regex":"\\s+"})", R"({"Regex":"\\p{N}{1,3}|(?i:'s)| ?\\p{L}+"})",
                                  R"({"Regex":"x*"})", R"x({"Regex":"(?=\\d)"})x"}) {
        all.push_back(fmt::format(R"({{"type":"Split","pattern":{},"behavior":"{}","invert":{}}})", pattern,
                                  b, invert));
      }
    }
  }
  for (const bool split : {false, true}) {
    for (const char* scheme : {"always", "first", "never"}) {
      all.push_back(fmt::format(
          R"({{"type":"Metaspace","replacement":"▁","prepend_scheme":"{}","split":{}}})", scheme, split));
    }
    for (const bool prefix : {false, true}) {
      all.push_back(
          fmt::format(R"({{"type":"ByteLevel","add_prefix_space":{},"trim_offsets":true,"use_regex":{}}})",
                      prefix, split));
    }
  }
  return all;
}

TEST_F(TokenizersOracle, PreTokenizers) {
  std::uint64_t seed = 100;
  for (const std::string& pre : pre_tokenizers()) {
    Parts parts;
    parts.pre_tokenizer = pre;
    compare_cuts(parts, any_texts(seed++));
  }
}

TEST_F(TokenizersOracle, PreTokenizersOnEveryCharacter) {
  const auto texts = all_characters();
  for (const char* pre : {R"({"type":"BertPreTokenizer"})", R"({"type":"Whitespace"})",
                          R"({"type":"UnicodeScripts"})", R"({"type":"Digits","individual_digits":true})"}) {
    Parts parts;
    parts.model = kUnigramBytes;
    parts.pre_tokenizer = pre;
    compare_texts(parts, texts);
  }
}

TEST_F(TokenizersOracle, KnownPatterns) {
  std::uint64_t seed = 300;
  const auto characters = all_characters();
  for (const std::string_view pattern : scan_patterns()) {
    Parts parts;
    parts.pre_tokenizer =
        fmt::format(R"({{"type":"Split","pattern":{{"Regex":{}}},"behavior":"Isolated","invert":false}})",
                    json_string(pattern));
    compare_cuts(parts, any_texts(seed++));
    compare_cuts(parts, any_texts(seed++, 100));
    parts.model = kUnigramBytes;
    compare_texts(parts, characters);
  }
}

TEST_F(TokenizersOracle, NormalizersThenPreTokenizersAndAddedTokens) {
  std::uint64_t seed = 1000;
  RandomTexts random(7);
  const auto pre = pre_tokenizers(), normal = normalizers();
  const std::vector<std::string> atoms = {"a", "B",  " ",      "  ",     "<x>", "<Y>", "é",  "e\u0301",
                                          "1", "23", "▁",      ".",      "中",  "\n",  "s",  "'s",
                                          "™", "ﬁ",  "\u0001", "\u200d", "İ",   "ǅ",   "가", "\u1100"};
  for (int round = 0; round < 60; ++round) {
    Parts parts;
    parts.added =
        R"([{"id":257,"content":"<x>","single_word":false,"lstrip":true,"rstrip":false,)"
        R"("normalized":false,"special":true},{"id":258,"content":"<Y>","single_word":false,)"
        R"("lstrip":false,"rstrip":true,"normalized":true,"special":false},{"id":259,"content":"23",)"
        R"("single_word":true,"lstrip":false,"rstrip":false,"normalized":true,"special":false}])";
    parts.normalizer = normal[random.below(static_cast<std::uint32_t>(normal.size()))];
    parts.pre_tokenizer = pre[random.below(static_cast<std::uint32_t>(pre.size()))];
    auto texts = texts_of(atoms, seed++);
    texts.resize(texts.size() / 4);
    compare_cuts(parts, texts);
  }
}

// ---- models ----

const std::vector<std::string>& letters() {
  static const std::vector<std::string> all = {"a", "b", "c", "ab", "é", "▁", " ", "中", "\U0001F600", "-"};
  return all;
}

/// Texts from letters, none twice, none empty.
std::vector<std::string> random_pieces(RandomTexts& random, std::size_t count, std::uint32_t longest) {
  std::vector<std::string> pieces;
  while (pieces.size() < count) {
    const std::string piece = random.of(letters(), longest);
    if (!piece.empty() && std::find(pieces.begin(), pieces.end(), piece) == pieces.end())
      pieces.push_back(piece);
  }
  return pieces;
}

TEST_F(TokenizersOracle, Unigram) {
  for (int round = 0; round < 24; ++round) {
    RandomTexts random(static_cast<std::uint64_t>(round) + 1);
    const bool bytes = round % 2 == 1, unk = round % 3 != 2;
    std::string vocab = R"(["<unk>",0.0])";
    for (const auto& piece : random_pieces(random, 12 + 8 * static_cast<std::size_t>(round % 4), 4)) {
      // Coarse scores give ties; fine ones show how numbers are read.
      const double score = round % 4 < 2 ? -static_cast<double>(random.below(6))
                                         : -static_cast<double>(random.below(1u << 30)) / 77777777.7;
      vocab += fmt::format(",[{},{}]", json_string(piece), score);
    }
    if (bytes) vocab += byte_pieces(R"(,["{byte}",-3.5])", 0);
    Parts parts;
    parts.model = fmt::format(R"({{"type":"Unigram","unk_id":{},"vocab":[{}],"byte_fallback":{}}})",
                              unk ? "0" : "null", vocab, bytes);
    auto atoms = letters();
    atoms.insert(atoms.end(), {"x", "<unk>", "é", "\u0301"});
    compare_texts(parts, texts_of(atoms, static_cast<std::uint64_t>(round)));
  }
}

TEST_F(TokenizersOracle, WordPieceAndWordLevel) {
  for (int round = 0; round < 16; ++round) {
    RandomTexts random(static_cast<std::uint64_t>(round) + 50);
    const std::string prefix = round % 3 == 0 ? "##" : round % 3 == 1 ? "" : "é";
    std::string vocab = R"("[UNK]":0)";
    int id = 1;
    std::vector<std::string> texts;
    for (auto piece : random_pieces(random, 24, 3)) {
      if (random.below(2) == 0) piece = prefix + piece;
      if (std::find(texts.begin(), texts.end(), piece) != texts.end()) continue;
      texts.push_back(piece);
      vocab += fmt::format(",{}:{}", json_string(piece), id++);
    }
    Parts parts;
    parts.pre_tokenizer = R"({"type":"Split","pattern":{"String":" "},"behavior":"Isolated","invert":false})";
    if (round % 4 == 3) {
      parts.model = fmt::format(R"({{"type":"WordLevel","unk_token":"[UNK]","vocab":{{{}}}}})", vocab);
    } else {
      parts.model = fmt::format(
          R"({{"type":"WordPiece","unk_token":"{}","continuing_subword_prefix":"{}","max_input_chars_per_word":{},)"
          R"("vocab":{{{}}}}})",
          round == 5 ? "none" : "[UNK]", prefix, 5 + round, vocab);
    }
    auto atoms = letters();
    atoms.insert(atoms.end(), {" ", "a", "##", "[UNK]"});
    compare_texts(parts, texts_of(atoms, static_cast<std::uint64_t>(round), 12));
  }
}

TEST_F(TokenizersOracle, Bpe) {
  for (int round = 0; round < 32; ++round) {
    RandomTexts random(static_cast<std::uint64_t>(round) + 500);
    const std::string prefix = round % 4 == 1 ? "##" : "", suffix = round % 4 >= 2 ? "</w>" : "";
    std::vector<std::string> tokens = {"<unk>"};
    const auto add = [&](const std::string& token) {
      if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) tokens.push_back(token);
    };
    for (const char* unit : {"a", "b", "c", "▁", "é"}) {
      for (const auto& before : {std::string(), prefix}) {
        for (const auto& after : {std::string(), suffix}) {
          if (random.below(8) > 0) add(before + unit + after);
        }
      }
    }
    std::string merges;
    for (int i = 0; i < 40; ++i) {
      const std::string left = tokens[1 + random.below(static_cast<std::uint32_t>(tokens.size()) - 1)];
      const std::string right = tokens[1 + random.below(static_cast<std::uint32_t>(tokens.size()) - 1)];
      if (!right.starts_with(prefix) || (!suffix.empty() && left.ends_with(suffix)) || left.size() > 12)
        continue;
      add(left + right.substr(prefix.size()));
      merges += fmt::format("{}[{},{}]", merges.empty() ? "" : ",", json_string(left), json_string(right));
    }
    std::string vocab;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      vocab += fmt::format("{}{}:{}", i > 0 ? "," : "", json_string(tokens[i]), i);
    }
    const bool bytes = (round & 4) != 0;
    if (bytes) vocab += byte_pieces(R"(,"{byte}":{id})", static_cast<int>(tokens.size()));
    const auto named = [](const std::string& text) { return text.empty() ? "null" : json_string(text); };
    Parts parts;
    parts.pre_tokenizer = R"({"type":"Split","pattern":{"String":" "},"behavior":"Removed","invert":false})";
    parts.model = fmt::format(
        R"({{"type":"BPE","dropout":null,"unk_token":{},"continuing_subword_prefix":{},"end_of_word_suffix":{},)"
        R"("fuse_unk":{},"byte_fallback":{},"ignore_merges":{},"vocab":{{{}}},"merges":[{}]}})",
        (round & 8) != 0 ? "\"<unk>\"" : "null", named(prefix), named(suffix), (round & 16) != 0, bytes,
        round % 5 == 0, vocab, merges);
    compare_texts(parts,
                  texts_of({"a", "b", "c", "ab", "é", "▁", " ", "x", "中", "a", "b"},
                           static_cast<std::uint64_t>(round), 24),
                  // The bytes of a prefix or suffix have no place in the text; `tokenizers` makes offsets up.
                  !bytes || (prefix.empty() && suffix.empty()));
  }
}

TEST_F(TokenizersOracle, RealTokenizersOnRandomTexts) {
  for (const char* name :
       {"gpt2", "phi-2", "whisper-tiny", "qwen2", "clip", "llama2", "all-minilm-l6-v2", "t5-small"}) {
    const std::string file = std::string(BORA_SHARED_DIR) + "/data/tokenizers/" + name + "/tokenizer.json";
    if (!exists(file) || env::for_tests("BORA_ORACLE_KIND").value_or(name) != name) continue;
    const JsonDocument document(read_text(file), file);
    Parts parts;
    const auto part = [&](const char* key) {
      const auto found = document.root().find(key);
      return found ? found->json() : "null";
    };
    parts = {part("normalizer"),
             part("pre_tokenizer"),
             part("post_processor"),
             part("decoder"),
             part("model"),
             part("added_tokens"),
             "null",
             "null"};
    compare_texts(parts, any_texts(77));
  }
}

// ---- decoders ----

std::vector<std::string> decoders() {
  return {R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})",
          R"({"type":"WordPiece","prefix":"##","cleanup":true})",
          R"({"type":"WordPiece","prefix":"##","cleanup":false})",
          R"({"type":"WordPiece","prefix":"","cleanup":true})",
          R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true})",
          R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true})",
          R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":false})",
          R"({"type":"BPEDecoder","suffix":"</w>"})",
          R"({"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true})",
          R"({"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":false})",
          R"({"type":"ByteFallback"})",
          R"({"type":"Fuse"})",
          R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})",
          R"({"type":"Replace","pattern":{"Regex":"a+"},"content":"<é>"})",
          R"({"type":"Strip","content":" ","start":1,"stop":0})",
          R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},)"
          R"({"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})",
          R"({"type":"Sequence","decoders":[{"type":"ByteFallback"},)"
          R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]})",
          "null"};
}

TEST_F(TokenizersOracle, Decoders) {
  const std::vector<std::string> tokens = {
      "a",      "##b",     "▁",     "▁a",    "a▁b",    " ",      ".",      ",",      "'s",
      "n't",    " do not", "</w>",  "a</w>", "<0xC3>", "<0xA9>", "<0x41>", "<0xg1>", "<0xE4>",
      "<0xB8>", "<0xAD>",  "<pad>", "|",     "Ġ",      "Ã",      "©",      "é",      "中",
      "aaa",    "' ",      " ' ",   "?",     "<s>",    "</s>",   "<0x+1>", "##",     "aa|"};
  std::string vocab = R"("<unk>":0)";
  for (std::size_t i = 0; i < tokens.size(); ++i)
    vocab += fmt::format(",{}:{}", json_string(tokens[i]), i + 1);
  std::uint64_t seed = 1;
  for (const std::string& decoder : decoders()) {
    Parts parts;
    parts.decoder = decoder;
    parts.model = R"({"type":"WordLevel","unk_token":"<unk>","vocab":{)" + vocab + "}}";
    parts.added = R"([{"id":32,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,)"
                  R"("normalized":false,"special":true}])";
    const Tokenizer ours = Tokenizer::from_json(parts.json());
    RandomTexts random(seed++);
    std::vector<Job> jobs;
    for (int i = 0; i < oracle_texts(); ++i) {
      std::vector<std::int32_t> ids;
      for (std::uint32_t n = 1 + random.below(12); n > 0; --n)
        ids.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(tokens.size()) + 3)));
      const bool skip = random.below(2) == 0;
      const std::string json = fmt::format(R"({{"ids":{},"skip":{}}})", numbers(ids), skip);
      jobs.push_back({json, json, [&ours, ids, skip] { return hex(ours.decode(ids, skip)); }});
    }
    compare(parts.json(), jobs);
  }
}

// ---- post-processors, truncation, padding ----

std::string template_of(std::string_view single, std::string_view pair) {
  const auto parts = [](std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c >= '0' && c <= '9') continue;
      const std::size_t at = static_cast<std::size_t>(&c - text.data());
      const char type =
          at + 1 < text.size() && text[at + 1] >= '0' && text[at + 1] <= '9' ? text[at + 1] : '0';
      out += out.empty() ? "" : ",";
      out += c == 'A' || c == 'B' ? fmt::format(R"({{"Sequence":{{"id":"{}","type_id":{}}}}})", c, type)
                                  : fmt::format(R"({{"SpecialToken":{{"id":"{}","type_id":{}}}}})", c, type);
    }
    return out;
  };
  return fmt::format(
      R"({{"type":"TemplateProcessing","single":[{}],"pair":[{}],"special_tokens":{{)"
      R"("x":{{"id":"x","ids":[1],"tokens":["a"]}},"y":{{"id":"y","ids":[2,3],"tokens":["b","c"]}}}}}})",
      parts(single), parts(pair));
}

std::vector<std::string> post_processors() {
  const std::string bert = R"({"type":"BertProcessing","sep":["b",2],"cls":["a",1]})";
  const auto roberta = [](bool trim, bool prefix) {
    return fmt::format(
        R"({{"type":"RobertaProcessing","sep":["b",2],"cls":["a",1],"trim_offsets":{},"add_prefix_space":{}}})",
        trim, prefix);
  };
  const std::string bytes =
      R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})";
  const auto sequence = [](const std::string& a, const std::string& b) {
    return R"({"type":"Sequence","processors":[)" + a + "," + b + "]}";
  };
  return {"null",
          bert,
          roberta(true, true),
          roberta(true, false),
          roberta(false, true),
          bytes,
          template_of("xAy", "xAyB1y1"),
          template_of("A3x", "B2xA1"),
          template_of("A", "AB"),
          sequence(bytes, template_of("xA", "xAxB1")),
          sequence(bert, roberta(true, false)),
          sequence(bert, template_of("xAy", "xA1B2"))};
}

TEST_F(TokenizersOracle, PairsTruncationAndPadding) {
  const std::vector<std::string> truncations = {
      "null",
      R"({"direction":"Right","max_length":9,"strategy":"LongestFirst","stride":0})",
      R"({"direction":"Left","max_length":10,"strategy":"LongestFirst","stride":2})",
      R"({"direction":"Right","max_length":12,"strategy":"OnlyFirst","stride":1})",
      R"({"direction":"Right","max_length":12,"strategy":"OnlySecond","stride":3})",
      R"({"direction":"Left","max_length":8,"strategy":"LongestFirst","stride":0})"};
  const std::vector<std::string> paddings = {
      "null",
      R"({"strategy":"BatchLongest","direction":"Right","pad_to_multiple_of":8,"pad_id":5,"pad_type_id":3,"pad_token":"p"})",
      R"({"strategy":{"Fixed":11},"direction":"Left","pad_to_multiple_of":null,"pad_id":4,"pad_type_id":0,"pad_token":"p"})"};
  std::uint64_t seed = 1;
  for (const std::string& post : post_processors()) {
    for (const std::string& truncation : truncations) {
      Parts parts;
      parts.post_processor = post;
      parts.truncation = truncation;
      parts.padding = paddings[seed % paddings.size()];
      parts.pre_tokenizer =
          R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})";
      parts.model = R"({"type":"Unigram","unk_id":0,"byte_fallback":false,"vocab":[["<unk>",0.0],["a",-1.0],)"
                    R"(["Ġ",-1.5],["Ġa",-1.0],["b",-2.0],["aĠ",-1.2],["ĠĠ",-1.0],["Ġé",-3.0]]})";
      const Tokenizer ours = Tokenizer::from_json(parts.json());
      RandomTexts random(seed++);
      std::vector<Job> jobs;
      std::vector<std::pair<std::string, std::string>> texts;
      for (int i = 0; i < oracle_texts() / 10; ++i) {
        const std::vector<std::string> atoms = {"a", "b", " ", "  ", "ab", "é", "c"};
        texts.emplace_back(random.of(atoms, 16), random.of(atoms, 16));
      }
      for (const auto& text : texts) {
        const bool special = random.below(4) > 0, two = random.below(3) > 0;
        const std::string json = fmt::format(R"({{"frame":[{}{}],"special":{}}})", json_string(text.first),
                                             two ? "," + json_string(text.second) : "", special);
        jobs.push_back({json, json, [&ours, &text, special, two] {
                          FrameOptions options;
                          options.add_special = special;
                          TextPair pair{text.first, {}};
                          if (two) pair.second = text.second;
                          return shown(frame(ours, pair, options));
                        }});
      }
      compare(parts.json(), jobs);
    }
  }
}

}  // namespace
}  // namespace bora::tokenize
