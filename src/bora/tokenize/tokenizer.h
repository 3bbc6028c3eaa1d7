// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/hash.h"
#include "bora/tokenize/chat_templates.h"

namespace bora {

namespace tokenize {
struct Pipeline;
}

/// Code points [begin, end) of a text.
struct CodePointSpan {
  std::int64_t begin = 0, end = 0;
  bool operator==(const CodePointSpan&) const = default;
};

/// What to make of special tokens (<s>, <|endoftext|>, ...) that are spelled out in a text.
enum class SpecialInText {
  Recognised,  ///< their ids, as `tokenizers` does unless told otherwise: for text that may hold control
               ///< tokens
  Ordinary,    ///< text like any other: a document or a prompt cannot bring in control ids. Added tokens that
               ///< are not special are found all the same (encode_special_tokens of `tokenizers`).
};

/// What a text became.
struct Encoding {
  std::vector<std::int32_t> ids;
  /// Where each id comes from in the text; {0, 0} for the special tokens that encode() added around it.
  std::vector<CodePointSpan> offsets;
};

/// A tokenizer as described by a Hugging Face `tokenizer.json`: ids, offsets and decoded text are those of
/// the PyPI package `tokenizers` 0.22. (0.23 spells added tokens with "normalized": true as the normalizer
/// leaves them: token() and decode() then give "▁<s>" for Llama 2's "<s>", and skip_special no longer leaves
/// it out. Ids are the same.) A cheap value (two shared pointers); every function is const and may be called
/// from any number of threads, each of which keeps a bounded cache of what it has met.
///
/// Texts are UTF-8. Invalid bytes are read as U+FFFD, one for each maximal part of a character, as decoders
/// of the web do. Truncation and padding in the file are for frame() (framing.h); these functions ignore
/// them.
class Tokenizer {
 public:
  /// Reads `path`, a directory that holds a tokenizer or one of its files, and the tokenizer_config.json
  /// beside it, if any. Besides tokenizer.json these are, in this order: vocab.json with merges.txt (GPT-2,
  /// RoBERTa, CLIP, Qwen2, by tokenizer_class); a SentencePiece .model, whose ids and texts are those of the
  /// library's versions 0.2.0 and 0.2.1; the ranks of tiktoken (of known vocabularies; else see tiktoken.h);
  /// BERT's vocab.txt. Errors: NotFound; Corruption for what contradicts the format (with the file and the
  /// key); Unsupported for components Bora does not have, by name.
  static Tokenizer load(const std::string& path);

  /// The same from text; `name` stands for the file in errors. An empty `config_json` means there is none.
  static Tokenizer from_json(std::string_view tokenizer_json, std::string_view config_json = {},
                             std::string_view name = "tokenizer.json");

  /// Ids and offsets. `add_special`: with what the post-processor adds (<s>, [CLS], ...), whatever `in_text`
  /// says.
  Encoding encode(std::string_view text, bool add_special = true,
                  SpecialInText in_text = SpecialInText::Recognised) const;

  /// Appends the ids of `text` to `out`: the fast path of data pipelines, without offsets. `piece_cache`:
  /// looks pieces up among those that this thread has met.
  void encode_ids(std::string_view text, std::vector<std::int32_t>& out, bool add_special = false,
                  SpecialInText in_text = SpecialInText::Recognised, bool piece_cache = true) const;

  /// The ids of each text, found by up to `threads` threads (0: as many as there are cores to run on).
  std::vector<std::vector<std::int32_t>> encode_batch(std::span<const std::string_view> texts,
                                                      bool add_special = false,
                                                      SpecialInText in_text = SpecialInText::Recognised,
                                                      int threads = 0) const;

  /// Those of its files, by name; none for most models that are not for chats.
  const ChatTemplates& chat_templates() const { return *templates_; }
  /// The same tokenizer with another default template.
  Tokenizer with_chat_template(std::string text) const;
  /// What its tokenizer_config.json names (bos_token, eos_token, ...), as templates get it; of a tokenizer
  /// without such a file, what save() would write there.
  std::map<std::string, std::string> special_tokens() const;

  /// The text of `ids`. Ids that stand for nothing are left out, as in `tokenizers`. A character whose bytes
  /// are not all there becomes U+FFFD; see StreamDecoder for tokens that arrive one by one.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special = false) const;

  /// The id of a token as it is spelled in the file ("Ġthe", "▁the", "<0x0A>"), or nothing.
  std::optional<std::int32_t> id_of(std::string_view token) const;
  /// The file's spelling of an id, or nothing.
  std::optional<std::string> token(std::int32_t id) const;
  bool is_special(std::int32_t id) const;
  /// Whether the model makes a byte of what its vocabulary does not have into this id: <0x0A>, special or not.
  bool is_byte(std::int32_t id) const;

  /// The largest id + 1: the rows an embedding needs.
  std::int64_t vocab_size() const;

  // From tokenizer_config.json, else guessed from the special tokens: </s>, <|endoftext|>, <eos>, ... If the
  // only special token is <|endoftext|>, it is both beginning and end, as in GPT-2.
  std::optional<std::int32_t> bos_id() const;
  std::optional<std::int32_t> eos_id() const;
  std::optional<std::int32_t> pad_id() const;
  std::optional<std::int32_t> unk_id() const;

  /// By id, the number of UTF-8 bytes of text it stands for, for losses in bits per byte: 0 for special
  /// tokens and unused ids, 1 for <0x0A> and its like, and a space for ▁. Size: vocab_size().
  const std::vector<std::int32_t>& bytes_per_token() const;

  /// A hash of everything that decides ids and text, in a canonical form: the same for files that differ in
  /// spelling alone. It covers tokenizer.json only, neither the path nor tokenizer_config.json.
  Hash128 fingerprint() const;

  /// tokenizer.json, tokenizer_config.json and the chat templates, for Bora and for `tokenizers` and
  /// `transformers`: names of files, which may begin with a folder, and contents.
  std::vector<std::pair<std::string, std::string>> files() const;
  /// Writes files() into `directory`, which is made if need be. Errors: Io.
  void save(const std::string& directory) const;

  /// For the other files of this room.
  explicit Tokenizer(std::shared_ptr<const tokenize::Pipeline> pipeline, ChatTemplates templates = {});
  const tokenize::Pipeline& pipeline() const { return *pipeline_; }

 private:
  std::shared_ptr<const tokenize::Pipeline> pipeline_;
  std::shared_ptr<const ChatTemplates> templates_;
};

}  // namespace bora
