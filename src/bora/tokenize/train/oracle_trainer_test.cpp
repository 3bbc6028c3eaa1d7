// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The trainers against those of `tokenizers`, and what `tokenizers` makes of the files that they write.
#include <cmath>
#include <map>
#include <utility>

#include "bora/base/json.h"
#include "bora/tokenize/oracle_test_util.h"
#include "bora/tokenize/pipeline.h"
#include "bora/tokenize/tokenize_test_util.h"
#include "bora/tokenize/train/tokenizer_trainer_kinds.h"
#include "bora/tokenize/train/unigram_trainer.h"

namespace bora::tokenize {
namespace {

// A job has our file and the documents. "train": learn another model for the same pipeline, and give its
// JSON. Otherwise: the ids of each document, and the text of the ids.
constexpr std::string_view kTrainerScript = R"PY(
import json, sys
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
job = json.loads(open(sys.argv[1], encoding="utf-8").readline())
tokenizer = Tokenizer.from_str(job["file"])
size, out = job["size"], open(sys.argv[2], "w")
if job["train"] == "":
    for e in tokenizer.encode_batch(job["documents"], add_special_tokens=False):
        text = tokenizer.decode(e.ids, skip_special_tokens=False).encode("utf-8").hex()
        out.write(json.dumps([e.ids, text], separators=(",", ":")) + "\n")
else:
    common = {"show_progress": False}
    if job["train"] == "unigram":
        tokenizer.model = models.Unigram()
        trainer = trainers.UnigramTrainer(vocab_size=size - 256, special_tokens=["<unk>", "<s>", "</s>"],
                                          unk_token="<unk>", **common)
    elif job["train"] == "wordpiece":
        tokenizer.model = models.WordPiece(unk_token="[UNK]")
        trainer = trainers.WordPieceTrainer(vocab_size=size, min_frequency=2, special_tokens=[
            "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], **common)
    elif job["train"] == "sentencepiece-bpe":
        tokenizer.model = models.BPE()
        trainer = trainers.BpeTrainer(vocab_size=size - 259, min_frequency=2, special_tokens=[], **common)
    else:
        tokenizer.model = models.BPE()
        trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=2, special_tokens=["<|endoftext|>"],
                                      initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), **common)
    tokenizer.train_from_iterator(job["documents"], trainer)
    out.write(json.dumps(json.loads(tokenizer.to_str())["model"]) + "\n")
)PY";

constexpr std::int64_t kSize = 3000;

class TrainerOracle : public Oracle {
 protected:
  void SetUp() override {
    Oracle::SetUp();
    if (IsSkipped()) return;
    for (const char* name : {"tinyshakespeare", "wikitext2-test", "wikitext2-valid"}) {
      const std::string file = std::string(BORA_SHARED_DIR "/data/text/") + name + ".txt";
      if (!exists(file)) GTEST_SKIP() << "the shared texts are not here";
      all_.push_back(read_text(file));
    }
    for (const std::string& text : all_) add_lines(text);
  }

  void add_lines(const std::string& text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      lines_.push_back(text.substr(begin, end - begin));
      begin = end;
    }
  }

  Tokenizer train(TokenizerKind kind) const {
    TokenizerTrainerConfig config;
    config.kind = kind;
    config.vocab_size = kSize;
    config.character_coverage = 1;
    return train_tokenizer(documents(lines_), config).tokenizer;
  }

  std::vector<std::string> ask(const Tokenizer& ours, std::string_view train,
                               const std::vector<std::string>& texts) const {
    const Json job = {
        {"file", ours.pipeline().json()}, {"train", train}, {"size", kSize}, {"documents", texts}};
    return run(kTrainerScript, job.dump() + "\n");
  }

  Json their_model(const Tokenizer& ours, std::string_view kind) const {
    const auto answers = ask(ours, kind, lines_);
    return answers.size() == 1 ? Json::parse(answers[0]) : Json();
  }

  static Json our_model(const Tokenizer& ours) { return Json::parse(ours.pipeline().json())["model"]; }

  void expect_same_encodings(TokenizerKind kind) const {
    const Tokenizer ours = train(kind);
    std::vector<std::string> texts = all_;
    for (std::size_t i = 0; i < lines_.size(); i += 5) texts.push_back(lines_[i]);
    RandomTexts random(8);
    for (int i = 0; i < 3000; ++i) texts.push_back(random.any(30));
    for (const char* text : {"<0x41> <unk>x", " a  b ", "\n\n a\n", "▁▁ ▁", "", " ", "\n"})
      texts.push_back(text);
    const auto answers = ask(ours, "", texts);
    ASSERT_EQ(answers.size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::vector<std::int32_t> ids;
      ours.encode_ids(texts[i], ids);
      ASSERT_EQ(answers[i], fmt::format("[{},\"{}\"]", numbers(ids), hex(ours.decode(ids))))
          << json_excerpt(texts[i]);
    }
  }

  std::vector<std::string> all_, lines_;
};

TEST_F(TrainerOracle, FilesEncodeAlike) {
  expect_same_encodings(TokenizerKind::Bpe);
  expect_same_encodings(TokenizerKind::SentencePieceBpe);
  expect_same_encodings(TokenizerKind::Unigram);
  expect_same_encodings(TokenizerKind::WordPiece);
}

/// The place of the first difference between two lists of merges, or "none".
std::string first_difference(const Json& a, const Json& b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i >= a.size() || i >= b.size() || a[i] != b[i])
      return fmt::format("{} of {}, {}: {} {}", i, a.size(), b.size(), i < a.size() ? a[i].dump() : "",
                         i < b.size() ? b[i].dump() : "");
  }
  return "none";
}

TEST_F(TrainerOracle, ByteLevelBpeIsTheSame) {
  const Tokenizer ours = train(TokenizerKind::Bpe);
  const Json theirs = their_model(ours, "bpe");
  EXPECT_EQ(first_difference(our_model(ours)["merges"], theirs["merges"]), "none");
  EXPECT_TRUE(our_model(ours)["vocab"] == theirs["vocab"]);
}

TEST_F(TrainerOracle, SentencePieceBpeHasTheSameMerges) {
  for (std::string& line : lines_) {  // they would merge the parts of <unk>
    for (std::size_t at = 0; (at = line.find("<unk>", at)) != std::string::npos;) line.replace(at, 5, "unk");
  }
  const Tokenizer ours = train(TokenizerKind::SentencePieceBpe);
  const Json theirs = their_model(ours, "sentencepiece-bpe");
  EXPECT_EQ(first_difference(our_model(ours)["merges"], theirs["merges"]), "none");
}

// Theirs depends on the order of a hash map, in which ties between pairs are broken.
TEST_F(TrainerOracle, WordPieceIsTheSameButForTies) {
  const Tokenizer ours = train(TokenizerKind::WordPiece);
  const Json theirs = their_model(ours, "wordpiece");
  std::int64_t found = 0;
  for (const auto& [token, id] : theirs["vocab"].items()) found += ours.id_of(token) ? 1 : 0;
  EXPECT_EQ(theirs["vocab"].size(), static_cast<std::size_t>(kSize));
  EXPECT_GT(found, kSize * 995 / 1000);
}

/// The text's log probability under a model's pieces, made to sum to 1.
double log_likelihood(const Json& model, const std::vector<WordCounts::Word>& words) {
  UnigramModel unigram;
  std::vector<double> scores;
  double sum = 0;
  for (const auto& item : model["vocab"]) {
    const auto text = item[0].get<std::string>();
    if (text.front() == '<' && text.size() > 2 && text.back() == '>') continue;
    unigram.texts.push_back(text);
    scores.push_back(item[1].get<double>());
    sum += std::exp(scores.back());
  }
  for (double& s : scores) s -= std::log(sum);
  unigram.set_scores(std::move(scores));
  unigram.index();
  UnigramLattice lattice;
  std::vector<double> expected(unigram.texts.size());
  double total = 0;
  for (const auto& word : words)
    total += lattice.add_expected(unigram, word.text, static_cast<double>(word.count), expected);
  return total;
}

TEST_F(TrainerOracle, UnigramIsAsLikely) {
  const Tokenizer ours = train(TokenizerKind::Unigram);
  std::int64_t bytes = 0;
  const WordCounts counts = count_words(documents(lines_), split_metaspace, 1, bytes);
  const double mine = log_likelihood(our_model(ours), counts.sorted());
  const double theirs = log_likelihood(their_model(ours, "unigram"), counts.sorted());
  EXPECT_LT(theirs, 0);
  EXPECT_GT(mine, theirs * 1.01) << mine << " " << theirs;
  RecordProperty("ours_over_theirs", fmt::format("{:.4f}", mine / theirs));
  std::vector<std::int32_t> ids;
  for (const std::string& text : all_) ours.encode_ids(text, ids);
  RecordProperty("tokens", fmt::format("{}", ids.size()));
}

}  // namespace
}  // namespace bora::tokenize
