// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/base/error.h"

namespace bora::store {

/// Nobody answers where something is asked for: no connection, or one that stays silent. An answer of whatever kind is none
/// of these. The next question to the same server would wait as long.
class Unreached : public Error {
 public:
  explicit Unreached(const std::string& message, ErrorKind kind = ErrorKind::Io) : Error(kind, message) {}
};

}  // namespace bora::store
