// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

namespace bora {

/// What a program needs of a plug-in, a shared library that it opens while it runs; with the words of its
/// errors.
struct PluginNeed {
  std::string name;            ///< "MPI plug-in"
  std::string version_symbol;  ///< a function int() of the plug-in
  int version = 0;             ///< that it must return
  std::string absent;          ///< what is not there without the library: "MPI plug-in: not built"
  std::string build;           ///< the next action then
  std::string repair;          ///< the next action where the library, or one that it needs, cannot be loaded
  bool global = false;     ///< its symbols, and those of what it needs, are seen by libraries opened later
  std::string setup = {};  ///< what scripts/plugin.sh of a checkout calls it; empty: built with the program
};

/// A plug-in that was opened. It stays loaded.
class Plugin {
 public:
  /// A bare name is looked for in the program's own plug-in folders, then where the system looks. One that is
  /// not there and that names its `setup` is fetched and built first where the program runs from its checkout
  /// (`./bora`). Errors: Unsupported, with the next action, if it is not there, cannot be loaded, or is not
  /// this program's.
  Plugin(const std::string& library, const PluginNeed& need);

  /// Whether the library is there and can be loaded; nothing is built.
  static bool is_there(const std::string& library);

  /// The function `symbol` of type F. Errors: Unsupported if the plug-in has none.
  template <class F>
  F* function(const char* symbol) const {
    return reinterpret_cast<F*>(find(symbol));
  }

 private:
  void* find(const char* symbol) const;

  std::string name_, library_;
  void* handle_ = nullptr;
};

}  // namespace bora
