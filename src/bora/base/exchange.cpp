// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/exchange.h"

#include "bora/base/file.h"

namespace bora {

bool change_places(const std::string& a, const std::string& b) {
  auto* able = dynamic_cast<ExchangingFiles*>(&files());
  return able != nullptr && able->exchange(a, b);
}

}  // namespace bora
