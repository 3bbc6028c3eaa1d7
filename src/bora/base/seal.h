// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>

namespace bora {

/// A JSON object, as dump(indent) gives one that is not empty, with the XXH3-128 of all bytes before it as its
/// last member, so that no changed bit is read as something else:
///
///     sealed = body ",\n" spaces "\"hash\": \"" 32 hexadecimal digits "\"\n}\n"
///
/// body: the object without its closing brace and the line break before that.
std::string sealed(std::string object, int indent);

enum class Seal {
  Fits,
  Broken,  ///< the text, or its hash, was changed
  None     ///< as older programs wrote it, or cut
};
Seal seal_of(std::string_view text);

}  // namespace bora
