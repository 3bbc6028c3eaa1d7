// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "laws.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace bora::law {
namespace {

namespace fs = std::filesystem;

bool has_suffix(const std::string& path, std::initializer_list<const char*> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](const char* s) { return path.ends_with(s); });
}

bool is_cpp(const std::string& path) { return has_suffix(path, {".h", ".cpp", ".cu"}); }

bool is_script(const std::string& path) {
  return has_suffix(path, {".sh", ".py"}) || path == "bora" || path == "test" || path == ".ci/run";
}

bool is_build_file(const std::string& path) { return has_suffix(path, {".cmake", "CMakeLists.txt"}); }

bool is_text(const std::string& path) {
  return is_cpp(path) || is_script(path) || is_build_file(path) ||
         has_suffix(path, {".md", ".yaml", ".in", ".clang-tidy", ".clang-format", "CMakePresets.json"});
}

std::vector<std::string> read_lines(const fs::path& path) {
  std::ifstream stream(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// A problem for every line that matches.
Problems matching_lines(const SourceFile& file, const std::regex& pattern, const std::string& message) {
  Problems problems;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(file.lines[i], match, pattern)) continue;
    problems.push_back(file.path + ":" + std::to_string(i + 1) + ": `" + match.str() + "`: " + message);
  }
  return problems;
}

// What a room names in its own row of the table in docs/explanation; what those may use, it may use too.
const std::map<std::string, std::vector<std::string>>& direct_uses() {
  static const std::map<std::string, std::vector<std::string>> table = {
      {"base", {}},
      {"core", {"base"}},
      {"named", {"core"}},
      {"mesh", {"core"}},
      {"nn", {"named"}},
      {"models", {"nn"}},
      {"unicode", {"base"}},
      {"jinja", {"unicode"}},
      {"tokenize", {"jinja"}},
      {"audio", {"base"}},
      {"store", {"base"}},
      {"data", {"store", "tokenize", "audio", "core"}},
      {"optim", {"core", "mesh"}},
      {"checkpoint", {"optim", "store"}},
      {"track", {"base"}},
      {"report", {"base"}},
      {"train", {"data", "checkpoint", "track", "nn"}},
      {"infer", {"nn", "tokenize", "track"}},
      {"run", {"models", "train", "infer", "report"}},
      {"cli", {"run"}},
  };
  return table;
}

void add_uses(const std::string& room, std::set<std::string>& uses) {
  for (const std::string& next : direct_uses().at(room)) {
    if (uses.insert(next).second) add_uses(next, uses);
  }
}

std::string join(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "no other room" : text;
}

// "store" for src/bora/store/format.h, "" outside the rooms.
std::string room_of(const std::string& path) {
  static const std::regex pattern("^src/bora/([^/]+)/");
  std::smatch match;
  return std::regex_search(path, match, pattern) ? match[1].str() : "";
}

bool in_product(const std::string& path) {
  return is_cpp(path) && !is_test(path) && (path.starts_with("src/") || path.starts_with("apps/"));
}

}  // namespace

std::vector<SourceFile> source_files(const std::string& root) {
  std::vector<SourceFile> files;
  const auto add = [&](const fs::path& path) {
    const std::string relative = path.lexically_relative(root).generic_string();
    if (fs::is_regular_file(path) && is_text(relative)) files.push_back({relative, read_lines(path)});
  };
  for (const auto& entry : fs::directory_iterator(root)) add(entry.path());
  for (const char* folder : {".ci", "apps", "bench", "cmake", "docs", "examples", "plugins", "recipes",
                             "scripts", "src", "tests"}) {
    if (!fs::is_directory(fs::path(root) / folder)) continue;
    for (auto it = fs::recursive_directory_iterator(fs::path(root) / folder); it != fs::end(it); ++it) {
      if (it->is_directory() && it->path().filename().string().starts_with("build"))
        it.disable_recursion_pending();
      add(it->path());
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

bool is_test(const std::string& path) { return path.starts_with("tests/") || path.ends_with("_test.cpp"); }

std::vector<std::string> headers_of(const std::string& source) {
  const std::string core = "src/bora/core/";
  if (!source.starts_with(core) || !source.ends_with(".cpp") || is_test(source)) return {};
  const std::string stem = source.substr(0, source.size() - 4) + ".h";
  const std::string name = stem.substr(stem.rfind('/') + 1);
  return {stem, core + name, core + "torch/" + name};
}

Installed installation(const std::string& header) {
  static const std::regex never(R"(^bora/core/.*/|(^|/)test_[^/]*$|_test_util\.h$|-inl\.h$)");
  static const std::regex always(R"(^bora/(core|named|nn|models|optim|train|infer)/[^/]+\.h$)");
  if (std::regex_search(header, never)) return Installed::Never;
  return std::regex_search(header, always) ? Installed::Always : Installed::Perhaps;
}

Problems layers(const SourceFile& file) {
  const std::string room = room_of(file.path);
  if (room.empty() || !is_cpp(file.path)) return {};
  if (!direct_uses().contains(room))
    return {file.path + ":1: folder `" + room + "` is not in the table of layers"};
  std::set<std::string> uses;
  add_uses(room, uses);
  static const std::regex include(R"rx(^\s*#\s*include\s*["<]([^">]+)[">])rx");
  static const std::regex own(R"(^bora/([^/]+)/)");
  Problems problems;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match, target;
    if (!std::regex_search(file.lines[i], match, include)) continue;
    const std::string path = match[1].str();
    const std::string where = file.path + ":" + std::to_string(i + 1) + ": ";
    if (std::regex_search(path, target, own)) {
      const std::string other = target[1].str();
      if (other != room && !uses.contains(other)) {
        problems.push_back(where + "room `" + room + "` includes " + path + ", but may use " + join(uses));
      }
    } else if (match.str().find('"') != std::string::npos &&
               (path.find('/') == std::string::npos || path[0] == '.')) {
      problems.push_back(where + "\"" + path + "\" should be written from the root: \"bora/" + room +
                         "/...\"");
    }
  }
  return problems;
}

Problems torch_includes(const SourceFile& file) {
  const std::string& path = file.path;
  // core's public headers are those of its own folder; its subfolders are private.
  static const std::regex in_core(
      R"(^src/bora/core/([^/]+\.cpp$|(autograd|layout|memory|ops|plain|torch)/))");
  const bool allowed = path.starts_with("plugins/") || std::regex_search(path, in_core);
  if (allowed || !is_cpp(path) || path.starts_with("tests/law/")) return {};
  static const std::regex pattern(
      R"rx(#\s*include\s*["<](torch|ATen|c10|caffe2)/|"bora/core/(autograd|layout|memory|ops|plain|torch)/)rx");
  return matching_lines(file, pattern,
                        "torch's headers stay in core's sources, its private folders and plugins");
}

Problems size_cap(const SourceFile& file) {
  constexpr std::size_t kMostLines = 600;
  if (is_test(file.path) || !(is_cpp(file.path) || is_script(file.path) || is_build_file(file.path)))
    return {};
  if (file.lines.size() <= kMostLines) return {};
  return {file.path + ":" + std::to_string(kMostLines + 1) + ": the file has " +
          std::to_string(file.lines.size()) + " lines, the cap is " + std::to_string(kMostLines) +
          "; split it by concept"};
}

Problems header_hygiene(const SourceFile& file) {
  // Highway compiles an -inl.h once per instruction set, and takes its choice of instruction sets as macros.
  if (!file.path.ends_with(".h") || file.path.ends_with("-inl.h")) return {};
  if (file.path == "src/bora/core/kernels/cpu/targets.h") return {};
  // Takes out of a library's header what would be compiled in every source.
  if (file.path == "cmake/pch.h") return {};
  static const std::regex define(R"(^\s*#\s*define\b)");
  Problems problems =
      matching_lines(file, define, "no macros in headers; use a constant, a function or a template");
  if (std::find(file.lines.begin(), file.lines.end(), "#pragma once") == file.lines.end()) {
    problems.push_back(file.path + ":3: `#pragma once` is missing");
  }
  return problems;
}

Problems licence_lines(const SourceFile& file) {
  if (!(is_cpp(file.path) || is_script(file.path) || is_build_file(file.path))) return {};
  const std::string mark = is_cpp(file.path) ? "// " : "# ";
  const std::vector<std::string> wanted = {mark + "SPDX-License-Identifier: Apache-2.0",
                                           mark + "SPDX-FileCopyrightText: The Bora authors"};
  const std::size_t first = !file.lines.empty() && file.lines[0].starts_with("#!") ? 1 : 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (first + i >= file.lines.size() || file.lines[first + i] != wanted[i]) {
      return {file.path + ":" + std::to_string(first + i + 1) + ": this line should be `" + wanted[i] + "`"};
    }
  }
  return {};
}

Problems forbidden_words(const SourceFile& file) {
  // Written in pieces, so that this file keeps its own law.
  static const std::regex unfinished(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X)\\b");
  static const std::regex machine(
      "(^|[^A-Za-z0-9_./~*-])/(ro"
      "ot|ho"
      "me|wo"
      "rk)/");
  static const std::regex hosts(
      "\\b(py"
      "pi|python"
      "hosted|deb"
      "ian)\\.org\\b");
  Problems problems = matching_lines(file, unfinished, "finish it, or file an issue");
  for (const std::string& p : matching_lines(file, machine, "a path of one machine")) problems.push_back(p);
  for (const std::string& p : matching_lines(file, hosts, "registries are configured by whoever builds")) {
    problems.push_back(p);
  }
  return problems;
}

Problems environment(const SourceFile& file) {
  if (!in_product(file.path) || file.path == "src/bora/base/env.cpp") return {};
  static const std::regex pattern(R"(\b(secure_)?getenv\s*\(|\benviron\b)");
  return matching_lines(file, pattern, "environment variables are read in src/bora/base/env.cpp alone");
}

Problems file_access(const SourceFile& file) {
  if (!in_product(file.path) || room_of(file.path) == "base") return {};
  static const std::regex pattern(
      R"(#\s*include\s*<fstream>|\bstd::(i|o)?fstream\b|\bfopen\s*\(|::open\s*\(\s*[^)]*O_|)"
      R"(\bfilesystem::(exists|create_director|create_symlink|create_hard_link|remove|rename|resize_file|file_size|copy|is_|status|space|)"
      R"(last_write_time|directory_iterator|recursive_directory_iterator|temp_directory_path))");
  return matching_lines(file, pattern,
                        "files are reached through bora::files(), so that tests can break them");
}

Problems host_pointers(const SourceFile& file) {
  if (!in_product(file.path) || room_of(file.path) == "core" || room_of(file.path).empty()) return {};
  static const std::regex pattern(R"((\.|->)(template )?data<[^>]+>\(\)|\blocal_data<)");
  return matching_lines(
      file, pattern,
      "an array may lie on another device; use core/host_view.h, core/step_ops.h, or to_vector()");
}

}  // namespace bora::law
