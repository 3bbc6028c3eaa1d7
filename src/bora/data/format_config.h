// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// How records become documents, and documents sequences: the types that `format.type` may name. formats.h has
// those that come with Bora.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bora/base/typed_config.h"
#include "bora/data/packing.h"
#include "bora/store/processor.h"

namespace bora {
class Tokenizer;
}

namespace bora::data {

struct DataConfig;

/// How a type of records shares sequences where the configuration does not say.
struct Packing {
  std::int64_t documents = 1;      ///< whole ones in a sequence; 0: joined end to end and cut anywhere
  std::string overlong = "raise";  ///< one of overlong_names()
};

/// The keys of every format, with Levanter's names. The configuration of a type derives from this struct,
/// binds its own keys, `void bind(Binder&)`, and makes what turns records into tokens.
struct FormatConfig {
  std::string invalid_utf8 = "refuse";        ///< one of store::invalid_text_names()
  std::optional<std::string> pack;            ///< true, false, a number of documents, pad or concat
  std::optional<std::string> slice_strategy;  ///< one of overlong_names()

  virtual ~FormatConfig() = default;
  virtual std::unique_ptr<store::Processor> make(const DataConfig& data,
                                                 const Tokenizer& tokenizer) const = 0;
  /// The same for records of ids, where no tokenizer is given (data.tokenizer: passthrough); null: it needs
  /// one.
  virtual std::unique_ptr<store::Processor> make_for_ids(std::int64_t /*vocab_size*/) const {
    return nullptr;
  }
  virtual Packing packing() const { return {}; }
  /// The field with the file of sound that a record's text was said in; empty: records have none.
  virtual std::string sound_key() const { return {}; }
  /// Why there is no training on such data; empty: there is.
  virtual std::string why_no_training() const { return {}; }
  /// What several keys must be together.
  virtual void check(Binder&) const {}

  void bind_common(Binder& b);
  /// Documents joined end to end and cut anywhere, rather than kept whole.
  bool is_concatenated() const;
  /// How whole documents share a sequence of so many tokens.
  PackRules pack_rules(std::int64_t seq_len) const;
};

/// All types that this program has, Bora's own first. A type of yours is one line before the configuration
/// is read:
///
///     data::format_types().add("mine", {"in a few words", MyFormat()});
Registry<ConfigType<FormatConfig>>& format_types();

/// A `format` block: `type` and the keys of that type.
struct FormatChoice {
  std::string type;
  AnyConfig<FormatConfig> config;

  FormatChoice();  ///< text
  template <class Format>
  FormatChoice(std::string name, Format format) : type(std::move(name)), config(std::move(format)) {}
  /// With its default values. InvalidArgument for an unknown type.
  explicit FormatChoice(std::string_view name);

  FormatConfig* operator->() { return config.operator->(); }
  const FormatConfig* operator->() const { return config.operator->(); }
  void bind(Binder& b);
};

/// What turns the records of a data set into tokens. Errors: Config where something is missing.
std::unique_ptr<store::Processor> make_processor(const FormatChoice& format, const DataConfig& config,
                                                 const Tokenizer& tokenizer);
/// For data sets of ids without any tokenizer ("passthrough").
/// Errors: Config for formats that need one, and without vocab_size.
std::unique_ptr<store::Processor> make_processor(const FormatChoice& format, const DataConfig& config);

}  // namespace bora::data
