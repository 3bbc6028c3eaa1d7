// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "bora/base/error.h"
#include "bora/base/plugin.h"

namespace bora::store {

/// Raised with every change of TableFile, ObjectStore or of the functions that the plug-in exports; loader
/// and plug-in must agree.
inline constexpr int kArrowPluginVersion = 2;

/// Who needs the plug-in, for its error messages.
struct ArrowNeed {
  std::string path;       ///< of a file, or a URL
  std::string what;       ///< "reading Parquet and Arrow"
  std::string otherwise;  ///< "or convert the file to jsonl"
};

/// The plug-in that `plugins/arrow` builds, which is looked for in the program's own plug-in folders, then
/// where the system looks. Errors: Unsupported, with the next action, if it is not there or is not this
/// program's.
Plugin arrow_plugin(const ArrowNeed& need, const std::string& library);

/// What the plug-in's function `name` opens. It gets the arguments and, for a failure, the kind of error and
/// its words.
template <class T, class... Arguments>
std::unique_ptr<T> open_with_plugin(const Plugin& plugin, const char* name, const std::string& path,
                                    Arguments... arguments) {
  using Open = T*(const char*, Arguments..., int*, char*, std::size_t);
  auto* open = plugin.function<Open>(name);
  std::array<char, 4096> words{};
  int kind = 0;
  std::unique_ptr<T> opened(open(path.c_str(), arguments..., &kind, words.data(), words.size()));
  if (!opened) fail(static_cast<ErrorKind>(kind), "{}", words.data());
  return opened;
}

}  // namespace bora::store
