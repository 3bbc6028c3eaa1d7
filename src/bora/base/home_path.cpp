// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/home_path.h"

#include <fmt/core.h>

#include "bora/base/env.h"
#include "bora/base/file.h"

namespace bora {
namespace {

bool begins_a_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_of_a_name(char c) { return begins_a_name(c) || (c >= '0' && c <= '9'); }

// "$HOME" or "${DATA}": of the first variable; empty where there is none.
std::string_view first_variable(std::string_view path) {
  for (auto at = path.find('$'); at != path.npos; at = path.find('$', at + 1)) {
    const bool braces = at + 1 < path.size() && path[at + 1] == '{';
    auto end = at + (braces ? 2 : 1);
    if (end >= path.size() || !begins_a_name(path[end])) continue;
    while (end < path.size() && is_of_a_name(path[end])) ++end;
    if (!braces) return path.substr(at, end - at);
    if (end < path.size() && path[end] == '}') return path.substr(at, end + 1 - at);
  }
  return {};
}

std::string what_to_write(std::string_view path, std::string_view variable) {
  const bool is_home = path.starts_with(variable) && (variable == "$HOME" || variable == "${HOME}");
  if (is_home) return fmt::format("~{}", path.substr(variable.size()));
  return fmt::format("what {} stands for; on the command line double quotation marks let the shell do it",
                     variable);
}

}  // namespace

std::string expand_home(std::string& path) {
  if (path.find("://") != path.npos) return "";
  if (const auto variable = first_variable(path); !variable.empty() && !exists(path))
    return fmt::format("\"{}\" holds {}, and variables are not replaced in paths; write {}", path, variable,
                       what_to_write(path, variable));
  if (!path.starts_with('~')) return "";
  const auto name = path.substr(0, path.find('/'));
  if (name.size() > 1)
    return fmt::format(
        "\"{}\" begins with {}, somebody's home folder to a shell; write its whole path, or ./{} for a "
        "folder of that name",
        path, name, path);
  const auto home = env::home();
  if (!home)
    return fmt::format("\"{}\" is in the home folder, and the variable HOME is not set; write the whole path",
                       path);
  path.replace(0, 1, *home);
  return "";
}

void expand_home(Binder& b, std::string_view name, std::string& value) {
  if (!b.reading()) return;
  if (auto why = expand_home(value); !why.empty()) b.problem(name, std::move(why));
}

void bind_path(Binder& b, std::string_view name, std::string& value, std::string_view doc) {
  b.field(name, value, doc);
  expand_home(b, name, value);
}
void bind_path(Binder& b, std::string_view name, std::optional<std::string>& value, std::string_view doc) {
  b.field(name, value, doc);
  if (value) expand_home(b, name, *value);
}
void bind_path(Binder& b, std::string_view name, std::vector<std::string>& values, std::string_view doc) {
  b.field(name, values, doc);
  for (auto& value : values) expand_home(b, name, value);
}

}  // namespace bora
