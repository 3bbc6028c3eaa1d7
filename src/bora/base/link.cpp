// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/link.h"

#include <cerrno>

#include "bora/base/file.h"

namespace bora {

void link_to(const std::string& target, const std::string& path) {
  auto* able = dynamic_cast<LinkingFiles*>(&files());
  if (able == nullptr) fail_file(path, "link", ENOTSUP);
  able->link(target, path);
}

}  // namespace bora
