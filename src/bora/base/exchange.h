// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

namespace bora {

/// What a FileSystem may be able to do besides.
class ExchangingFiles {
 public:
  virtual ~ExchangingFiles() = default;
  /// As change_places.
  virtual bool exchange(const std::string& a, const std::string& b) = 0;
};

/// By way of files(): each of two directories or files takes the other's place, in one step. False, and
/// nothing has changed, where the file system has no such step. NotFound if one of them is missing.
bool change_places(const std::string& a, const std::string& b);

}  // namespace bora
