// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/problem_list.h"

#include <algorithm>

namespace bora::run {
namespace {

// "\nhint: x" becomes "; x".
std::string on_one_line(std::string text) {
  for (auto at = text.find("\nhint: "); at != text.npos; at = text.find("\nhint: "))
    text.replace(at, 7, "; ");
  for (auto at = text.find('\n'); at != text.npos; at = text.find('\n', at)) text.replace(at, 1, " ");
  return text;
}

}  // namespace

void ProblemList::add(ConfigProblem problem) {
  problem.message = on_one_line(std::move(problem.message));
  const bool is_told = std::any_of(problems_.begin(), problems_.end(), [&](const ConfigProblem& told) {
    return told.key == problem.key && told.message == problem.message;
  });
  if (!is_told) problems_.push_back(std::move(problem));
}

void ProblemList::add(const std::string& key, std::string message) { add({"", key, std::move(message)}); }

void ProblemList::add_error(const std::string& key, const std::string& text) {
  const auto colon = text.find(": ");
  const bool own = colon != text.npos && text.substr(0, colon).find_first_of(" /\n") == text.npos &&
                   tree_.has(text.substr(0, colon));
  add(own ? text.substr(0, colon) : key, own ? text.substr(colon + 2) : text);
}

void ProblemList::add_error(const std::string& key, const Error& e) {
  const std::string text = e.what();
  const bool has_hint = e.kind() != ErrorKind::Corruption || text.find("hint: ") != text.npos;
  add_error(key, has_hint ? text : text + "\nhint: mend it, copy or make it again, or name another");
}

}  // namespace bora::run
