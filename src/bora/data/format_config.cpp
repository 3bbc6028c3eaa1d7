// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/format_config.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/data/config.h"
#include "bora/data/formats.h"
#include "bora/store/invalid_text.h"

namespace bora::data {
namespace {

/// Documents in a sequence; 0: concatenated; nothing: no such value.
std::optional<std::int64_t> documents_of(const FormatConfig& format) {
  const auto usual = format.packing().documents;
  if (!format.pack) return usual;
  const std::string& pack = *format.pack;
  if (pack == "true") return kMostSegments;
  if (pack == "concat" || (pack == "false" && usual == 0)) return 0;
  if (pack == "pad" || pack == "false") return 1;
  const auto n = parse_int(pack);
  if (n && *n >= 1) return n;
  return {};
}

using Types = Registry<ConfigType<FormatConfig>>;

// A line for each.
Types builtin() {
  Types types("format");
  types.add("text", {"a text in each record, or files of text", TextFormat()});
  types.add("chat", {"a conversation in each record", ChatFormat()});
  types.add("supervised", {"a question with its answer", SupervisedFormat()});
  types.add("prebuilt", {"token ids", PrebuiltFormat()});
  types.add("speech", {"a file of sound with its text", SpeechFormat()});
  types.add("preference_chat", {"a pair of conversations of which one is preferred", PreferenceFormat()});
  return types;
}

}  // namespace

Types& format_types() {
  static Types types = builtin();
  return types;
}

void FormatConfig::bind_common(Binder& b) {
  b.choice(
      "invalid_utf8", invalid_utf8, store::invalid_text_names(),
      "files that are not UTF-8: an error with the place, U+FFFD for what is wrong, or the bytes as they "
      "are (text files only)");
  b.field(
      "pack", pack,
      "how documents become sequences: concat (joined and cut; the default of text), true (whole ones "
      "together, at most 64; of chat and supervised), a number of them, or pad (one in each; of prebuilt)");
  b.field("slice_strategy", slice_strategy,
          "documents longer than a sequence, unless concatenated: left (keeps the first tokens; default of "
          "text and chat), right (the last; supervised), raise (an error; prebuilt), drop");
  if (!b.reading()) return;
  if (!documents_of(*this))
    b.problem("pack", "should be true, false, pad, concat or a number of documents, at least 1");
  const auto& names = overlong_names();
  if (slice_strategy && std::find(names.begin(), names.end(), *slice_strategy) == names.end())
    b.problem("slice_strategy", "should be one of " + join(names));
  check(b);
}

bool FormatConfig::is_concatenated() const { return documents_of(*this).value_or(1) == 0; }

PackRules FormatConfig::pack_rules(std::int64_t seq_len) const {
  return {seq_len, std::max<std::int64_t>(1, documents_of(*this).value_or(1)),
          parse_overlong(slice_strategy.value_or(packing().overlong))};
}

FormatChoice::FormatChoice() : FormatChoice("text", TextFormat()) {}

FormatChoice::FormatChoice(std::string_view name) : FormatChoice() {
  const auto* found = format_types().find(name);
  if (found == nullptr) fail(ErrorKind::InvalidArgument, "format: {}", format_types().unknown(name));
  type = name;
  config = found->config;
}

void FormatChoice::bind(Binder& b) {
  if (!bind_type(
          b, type, config, format_types(),
          "what a record is: text, a conversation, a question with its answer, token ids, a file of sound with "
          "its text, or a pair of conversations of which one is preferred"))
    return;
  config.bind(b);
  config->bind_common(b);
}

std::unique_ptr<store::Processor> make_processor(const FormatChoice& format, const DataConfig& config,
                                                 const Tokenizer& tokenizer) {
  return format->make(config, tokenizer);
}

std::unique_ptr<store::Processor> make_processor(const FormatChoice& format, const DataConfig& config) {
  auto processor = format->make_for_ids(config.vocab_size.value_or(1));
  if (processor == nullptr) {
    fail(ErrorKind::Config,
         "data.tokenizer: passthrough is for prebuilt records, but these are {}\nhint: give a tokenizer",
         format.type);
  }
  if (!config.vocab_size) fail(ErrorKind::Config, "data.tokenizer: passthrough needs data.vocab_size");
  return processor;
}

}  // namespace bora::data
