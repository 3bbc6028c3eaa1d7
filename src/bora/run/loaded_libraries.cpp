// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/loaded_libraries.h"

#include <link.h>

#include <cstdlib>
#include <memory>
#include <set>

#include "bora/base/file.h"

namespace bora::run {
namespace {

int add_library(dl_phdr_info* about, std::size_t /*size*/, void* to) {
  const std::string name = about->dlpi_name == nullptr ? "" : about->dlpi_name;
  if (name.find('/') == name.npos) return 0;  // the program itself, and what the kernel lends it
  const std::unique_ptr<char, decltype(&std::free)> file(::realpath(name.c_str(), nullptr), &std::free);
  static_cast<std::set<std::string>*>(to)->insert(base_name(file ? file.get() : name));
  return 0;
}

}  // namespace

std::vector<std::string> loaded_libraries() {
  std::set<std::string> names;
  ::dl_iterate_phdr(add_library, &names);
  return {names.begin(), names.end()};
}

}  // namespace bora::run
