// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/first_look.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/data/chat_processor.h"
#include "bora/data/formats.h"
#include "bora/store/documents.h"
#include "bora/store/format.h"
#include "bora/store/ledger.h"
#include "bora/store/processor.h"

namespace bora::run {
namespace {

constexpr std::size_t kMostFiles = 1000, kMostProblems = 8;

const char* use_of(store::Split split) { return split == store::Split::Train ? "train" : "validation"; }

class FirstLook {
 public:
  FirstLook(const data::DataConfig& data, const TextsHere& texts, const std::optional<Tokenizer>& tokenizer,
            std::int64_t seq_len)
      : data_(data), texts_(texts), tokenizer_(tokenizer), seq_len_(seq_len) {}

  std::vector<ConfigProblem> take() {
    find_processor();
    find_cache();
    if (!cache_) look_at_records();
    if (seq_len_ > 0 && texts_.is_used) look_at_length();
    return std::move(problems_);
  }

 private:
  void add(const std::string& key, std::string message) {
    problems_.push_back({"", key, std::move(message)});
  }
  std::string prefix() const { return data_.configs.empty() ? "data" : "data.configs." + texts_.name; }

  void find_processor() {
    if (tokenizer_) try {
        processor_ = data::make_processor(texts_.source.format, data_, *tokenizer_);
        return;
      } catch (const Error& e) {
        return add(prefix() + ".format", e.what());
      }
    const auto* chat = dynamic_cast<const data::ConversationFormat*>(&*texts_.source.format.config);
    if (chat == nullptr || !data_.train_tokenizer) return;
    if (const auto& given = chat->chat_template ? chat->chat_template : data_.chat_template) {
      try {
        (void)data::chat_template_text(*given);
      } catch (const Error& e) {
        add(prefix() + ".format", e.what());
      }
      return;
    }
    add(prefix() + ".format",
        fmt::format(
            "chat: a tokenizer that is trained ({}) has no chat template; data.chat_template, as text or the "
            "path of a .jinja file",
            data_.tokenizer_name()));
  }

  // One that is damaged the start tells of; what a differing one was made from is compared elsewhere.
  void find_cache() {
    const auto directory = data_.cache_directory(texts_.name, texts_.source, use_of(texts_.split));
    std::optional<store::Ledger> ledger;
    try {
      ledger = store::read_ledger(directory);
    } catch (const Error&) {
      return;
    }
    if (!ledger) return;
    const auto& before = ledger->tokenizer.text;
    const auto now = data_.tokenizer_name();
    const bool is_other = processor_ ? processor_->fingerprint() != ledger->fingerprint
                                     : data_.train_tokenizer && !before.empty() && before != now;
    if (is_other)
      return add(
          texts_.source.cache_dir ? prefix() + ".cache_dir" : "data.cache_dir",
          fmt::format("{} was made with tokenizer {} and this run has {}; leave it out for a folder by "
                      "tokenizer, name another, or delete {}",
                      directory, before.empty() ? ledger->fingerprint : before,
                      before == now ? now + ", trained on other text" : now, directory));
    const bool is_text = is_of<data::TextFormat>();
    const auto key = is_text ? data::text_format(texts_.source.format).text_key : "";
    const bool fits = ledger->format.whole_records == !is_text && ledger->format.text_key == key;
    if (ledger->is_finished && fits) cache_ = std::move(ledger);
  }

  void look_at_records() {
    auto format = data::text_format(texts_.source.format);
    const bool is_text = is_of<data::TextFormat>(), is_chat = is_of<data::ConversationFormat>();
    if (!is_text && data_.train_tokenizer && !tokenizer_ && texts_.split == store::Split::Train)
      look_at_each(
          format,
          fmt::format("data.train_tokenizer learns from records of type text, and those of data set {} "
                      "are of type {}: train a tokenizer on other files (bora train-tokenizer FILES "
                      "--out DIRECTORY) and give it as data.tokenizer",
                      texts_.name, texts_.source.format.type));
    const bool takes_records = processor_ ? processor_->takes_records() : is_chat;
    if (!is_text && !takes_records) return;
    if (takes_records) {
      format.text_key = "";
      format.whole_records = true;
    }
    look_at_each(format);
  }
  template <class Format>
  bool is_of() const {
    return dynamic_cast<const Format*>(&*texts_.source.format.config) != nullptr;
  }

  void look_at_each(const store::TextFormat& format, const std::string& hint = "") {
    const auto count = std::min(texts_.files.size(), kMostFiles);
    for (std::size_t i = 0; i < count && problems_.size() < kMostProblems; ++i) {
      auto wrong = look_at_record(texts_.files[i], format);
      if (wrong.empty()) continue;
      if (!hint.empty()) wrong = wrong.substr(0, wrong.find("\nhint: ")) + "\nhint: " + hint;
      constexpr std::string_view kKey = " set format.";
      if (const auto at = wrong.find(kKey); at != wrong.npos)
        wrong.replace(at, kKey.size(), fmt::format(" set {}.format.", prefix()));
      add(texts_.key, wrong);
      if (!hint.empty()) return;  // the same of each
    }
    if (!may_hold_text_ && problems_.empty() && count == texts_.files.size() && count > 0) add_no_text();
  }

  void add_no_text() {
    add(texts_.key, fmt::format("{} no {}; give files that do, or leave {} out", they_hold(texts_.files),
                                is_of<data::TextFormat>() ? "text" : "record",
                                texts_.split == store::Split::Train ? "the data set" : "the key"));
  }

  // The first document that has any, among so many.
  static bool has_text(store::DocumentReader& reader, store::TextPiece& piece, bool is_record) {
    constexpr int kMostDocuments = 1000;
    for (int i = 0; i < kMostDocuments; ++i) {
      if (!reader.next(piece)) return false;
      if (is_record || !piece.text.empty()) return true;
    }
    return true;  // perhaps
  }

  std::string look_at_record(const std::string& path, const store::TextFormat& format) {
    std::string where;
    try {
      if (store::file_format(path).layout == store::Layout::Table) {
        may_hold_text_ = true;
        return "";
      }
      const auto source = store::look_up_sources({path}).front();
      const auto reader = store::open_documents({source, 0, source.size}, format);
      store::TextPiece piece;
      if (!has_text(*reader, piece, format.whole_records)) return "";
      may_hold_text_ = true;
      if (!format.whole_records || !processor_) return "";
      where = reader->where() + ": ";
      store::EncodedRecord record;
      processor_->encode_record(piece.text, record);
      return "";
    } catch (const Error& e) {
      const std::string text = e.what();
      const bool has_hint = e.kind() != ErrorKind::Corruption || text.find("hint: ") != text.npos;
      return (text.starts_with(where) ? "" : where) + text +
             (has_hint ? "" : "\nhint: mend it, copy or make it again, or name another");
    }
  }

  // Of text as it is, no more tokens than it has bytes, and a few around each file; other tokenizers may have a few for
  // what they write anew.
  std::optional<std::int64_t> most_tokens() const {
    if (cache_) return cache_->totals().tokens;
    if (!is_of<data::TextFormat>()) return std::nullopt;
    std::int64_t bytes = 0;
    for (const auto& source : store::look_up_sources(texts_.files)) {
      const auto format = store::file_format(source.path);
      if (format.layout == store::Layout::Table || format.compression != store::Compression::None)
        return std::nullopt;
      bytes += static_cast<std::int64_t>(source.size) + 8;
    }
    const bool is_of_bytes = data_.train_tokenizer && data_.train_tokenizer->kind == "bpe";
    return is_of_bytes ? bytes : 4 * bytes;
  }

  void look_at_length() {
    if (!texts_.source.format->is_concatenated()) return;
    const auto most = most_tokens();
    if (!most || texts_.files.empty()) return;
    const auto* at_most = cache_ ? "" : "at most ";
    const auto sequences = *most / seq_len_;
    if (sequences < 1)
      return add(
          "model.seq_len",
          fmt::format("is {}, and {} has {}{} tokens of {}, fewer than one sequence; more text, or a smaller "
                      "model.seq_len",
                      seq_len_, texts_.name, at_most, *most, use_of(texts_.split)));
    if (texts_.split != store::Split::Train) return;
    const auto* held_back = data::find(data_.num_validation_sequences, texts_.name);
    if (held_back != nullptr && *held_back >= sequences)
      add("data.num_validation_sequences",
          fmt::format("is {} for {}, which has {}{} sequences; hold back fewer than {}", *held_back,
                      texts_.name, at_most, sequences, sequences));
  }

  const data::DataConfig& data_;
  const TextsHere& texts_;
  const std::optional<Tokenizer>& tokenizer_;
  const std::int64_t seq_len_;
  std::unique_ptr<store::Processor> processor_;
  std::optional<store::Ledger> cache_;  // finished, and of this tokenizer as far as is known
  std::vector<ConfigProblem> problems_;
  bool may_hold_text_ = false;
};

}  // namespace

std::vector<ConfigProblem> problems_of_texts(const data::DataConfig& data, const TextsHere& texts,
                                             const std::optional<Tokenizer>& tokenizer,
                                             std::int64_t seq_len) {
  return FirstLook(data, texts, tokenizer, seq_len).take();
}

std::vector<ConfigProblem> problems_of_prompts(const SampleConfig& sample,
                                               const std::optional<Tokenizer>& tokenizer,
                                               std::int64_t seq_len) {
  std::vector<ConfigProblem> out;
  for (std::size_t i = 0; i < sample.prompts.size(); ++i) {
    const auto& prompt = sample.prompts[i];
    std::vector<std::int32_t> ids;
    if (tokenizer) tokenizer->encode_ids(prompt, ids, false, SpecialInText::Ordinary);
    if (prompt.empty() || (tokenizer && ids.empty()))
      out.push_back(
          {"", "sample.prompts",
           fmt::format("prompt {} is empty; give it a word to go on from, or leave it out", i + 1)});
    else if (seq_len > 0 && std::ssize(ids) >= seq_len)
      out.push_back(
          {"", "sample.prompts",
           fmt::format("prompt {} has {} tokens, and model.seq_len is {}: it leaves no room for a text; a "
                       "shorter one, or leave it out",
                       i + 1, ids.size(), seq_len)});
  }
  return out;
}

}  // namespace bora::run
