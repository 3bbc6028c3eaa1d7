// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <span>
#include <string_view>

#include "bora/base/config.h"

namespace bora {

/// A key that means something with some values of the key `type` alone.
struct KeyOfTypes {
  std::string_view key;
  std::string_view types;  ///< "yarn, longrope"
  bool is_default = true;  ///< its value
};

/// While a section is read: a problem for each key that was given, is not its default and is none of `type`'s. A section
/// in which all keys stand is a record, whose numbers of other types stand for nothing: there only overrides count.
void refuse_keys_of_other_types(Binder& b, std::string_view type, std::span<const KeyOfTypes> keys);

}  // namespace bora
