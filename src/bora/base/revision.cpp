// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/revision.h"

#include <utility>

namespace bora {
namespace {

std::string& stored() {
  static std::string revision;
  return revision;
}

}  // namespace

std::string program_revision() { return stored(); }
void set_program_revision(std::string revision) { stored() = std::move(revision); }

}  // namespace bora
