// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bora/base/json_view.h"
#include "bora/tokenize/models/vocabulary.h"
#include "bora/tokenize/normalize/normalizer.h"
#include "bora/tokenize/tokenizer.h"
#include "bora/unicode/pattern.h"

namespace bora::tokenize {

/// One of "added_tokens" in tokenizer.json: text that is always one token.
struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool special = false;      ///< left out by decode(skip_special)
  bool normalized = false;   ///< looked for in the normalized text, in normalized form
  bool single_word = false;  ///< only where no word character touches it
  bool lstrip = false;       ///< takes the white space before it
  bool rstrip = false;       ///< takes the white space after it
};

/// A part of a text: an added token, or what is left to the model.
struct AddedPart {
  ByteRange range;
  std::int32_t id = -1;  ///< -1: text
};

/// Finds the longest of a set of texts at each place, from left to right.
class TokenTrie {
 public:
  /// A text that is there already keeps its value.
  void add(std::string_view text, std::int32_t value);
  bool empty() const { return nodes_.empty(); }
  struct Found {
    ByteRange range;
    std::int32_t value;
  };
  std::optional<Found> find(std::string_view text, std::size_t from) const;

 private:
  struct Node {
    std::int32_t value = -1;
    std::vector<std::pair<unsigned char, std::uint32_t>> next;  // sorted
  };
  std::size_t candidate(std::string_view text, std::size_t from) const;
  std::optional<std::uint32_t> child(std::uint32_t node, unsigned char byte) const;
  std::vector<Node> nodes_;
  std::array<std::uint32_t, 256> roots_{};  // 0: no text starts with this byte
  std::optional<std::string> common_;       // what all texts start with
};

class AddedTokens {
 public:
  /// "added_tokens" (or nothing). A token whose content the model knows has the model's id, else the next
  /// free one; as in `tokenizers`, the id in the file is only checked, with a warning. Errors: Corruption.
  static AddedTokens read(const std::optional<JsonView>& json, const Vocabulary& vocabulary,
                          const Normalizer* normalizer);
  void write(std::string& out) const;

  /// The parts of a raw (or normalized) text, in order. Appends. A special token that is ordinary text hides
  /// the added tokens within it, as in `tokenizers`.
  void split(std::string_view text, bool normalized, SpecialInText in_text,
             std::vector<AddedPart>& parts) const;
  /// The same with special tokens only where is_control(their range) says so; others hide nothing.
  using IsControl = std::function<bool(ByteRange)>;
  void split(std::string_view text, bool normalized, const IsControl& is_control,
             std::vector<AddedPart>& parts) const;
  bool any(bool normalized) const { return !tries_[normalized].empty(); }

  /// Null if there is none.
  const AddedToken* find(std::int32_t id) const;
  const AddedToken* find(std::string_view content) const;
  bool is_special(std::string_view content) const;
  const std::map<std::int32_t, AddedToken>& all() const { return by_id_; }

  void add(AddedToken token);
  /// Prepares split(); after the last add(). `normalizer` may be null. Warns, with `where`, of tokens of which it
  /// leaves nothing: no text holds them (`tokenizers` finds such a one before every character).
  void index(const Normalizer* normalizer, std::string_view where = "added_tokens");

 private:
  /// Adds the part for a token found, and the text before it; false if words around it forbid that.
  bool take(std::string_view text, const TokenTrie::Found& found, std::size_t& done,
            std::vector<AddedPart>& parts) const;

  std::map<std::int32_t, AddedToken> by_id_;
  std::unordered_map<std::string, std::int32_t> ids_;
  std::unordered_set<std::string> special_;
  std::array<TokenTrie, 2> tries_;  // [normalized]
};

}  // namespace bora::tokenize
