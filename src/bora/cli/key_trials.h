// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What values a configuration key takes beyond what its type says, found by giving it some: the program itself says what
// it refuses.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json.h"
#include "bora/cli/describe.h"

namespace bora::cli {

class KeyTrials {
 public:
  explicit KeyTrials(const DescribedKey& key);

  /// Whether a value of this kind of YAML (boolean, number, string, array, object) is taken, whatever is said of its
  /// contents.
  bool takes(std::string_view kind) const;
  /// Whether there is nothing to say of a value.
  bool allows(std::string_view yaml) const;
  /// Whether kinds are taken that the key's type does not tell of: true, false or a policy; a number or stages.
  bool has_several_spellings() const;
  /// The schema of the kinds that the type does not tell of.
  std::vector<Json> other_spellings() const;
  /// The words that the text may be; none where it may be any.
  std::vector<std::string> words_taken() const;
  /// The same, alone or in a list, as a schema; null where it may be any.
  Json words() const;
  /// Whether numbers must be powers of two.
  bool is_power_of_two() const;

 private:
  Json text_of(const std::vector<std::string>& words, const std::string& all) const;

  std::string path_, type_of_section_, section_;
  const DescribedKey& key_;
};

/// "model, type: gpt2" -> gpt2; "" for what is of no one type.
std::string type_of_section(const std::string& section);
/// "model, type: gpt2" -> model
std::string path_of_section(const std::string& section);

}  // namespace bora::cli
