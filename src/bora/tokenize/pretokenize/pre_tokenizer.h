// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/json_view.h"
#include "bora/tokenize/normalize/aligned_text.h"
#include "bora/tokenize/pretokenize/scanner.h"

namespace bora::tokenize {

/// A text and the pieces that the model will see, in order; gaps are dropped.
struct PreText {
  AlignedText text;
  std::vector<ByteRange> pieces;
};

/// What becomes of the matches when a text is split at them.
enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

/// The pieces of a text split at the matches in `parts`; appends, each range shifted by `shift`.
void split_at(const std::vector<PatternPart>& parts, SplitBehavior behavior, std::size_t shift,
              std::vector<ByteRange>& pieces);

/// What "Metaspace" does, alone or after "WhitespaceSplit".
struct MetaspaceRule {
  enum class Scheme { Always, First, Never };
  std::string replacement;         ///< of spaces: one character
  Scheme scheme = Scheme::Always;  ///< what gets one in front
  bool split = true;               ///< pieces end before each
  bool words = false;              ///< white space is dropped first, and each word is a text of its own
};

/// Cuts a text into pieces: "pre_tokenizer" in tokenizer.json.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Cuts every piece further. Without `map_bytes`, a ByteLevel that comes last leaves the bytes to the
  /// model.
  virtual void apply(PreText& text, bool map_bytes) const = 0;
  /// True if a ByteLevel comes last.
  virtual bool ends_in_bytes() const { return false; }
  /// The rule, if apply(text, false) is exactly a scan.
  virtual std::optional<ScanRule> scan_rule() const { return std::nullopt; }
  /// The rule, if apply() does nothing else.
  virtual std::optional<MetaspaceRule> metaspace_rule() const { return std::nullopt; }
  /// Whether what it does to a piece depends on where the original text begins.
  enum class StartUse {
    None,
    Yes,
    AfterRewriting,  ///< and it looks at pieces that it has rewritten itself before
  };
  virtual StartUse start_use() const { return StartUse::None; }
  /// True if it changes the text of pieces.
  virtual bool rewrites() const { return false; }
  /// Appends the JSON that read_pre_tokenizer() reads.
  virtual void write(std::string& out) const = 0;
};

/// BertPreTokenizer, ByteLevel, Split, Metaspace, Digits, Punctuation, Whitespace, WhitespaceSplit,
/// CharDelimiterSplit, UnicodeScripts, FixedLength, Sequence. Errors: Unsupported for other types, by name.
std::unique_ptr<const PreTokenizer> read_pre_tokenizer(const JsonView& json);

/// The ByteLevel of GPT-2 (no prefix space), for trained tokenizers.
std::unique_ptr<const PreTokenizer> gpt2_pre_tokenizer();

}  // namespace bora::tokenize
