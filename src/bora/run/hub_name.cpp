// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/hub_name.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "bora/base/file.h"
#include "bora/base/text.h"

namespace bora::run {
namespace {

// Names without an owner.
constexpr std::array<std::string_view, 5> kOld = {"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl",
                                                  "distilgpt2"};

bool is_hub_name(const std::string& name) {
  if (std::find(kOld.begin(), kOld.end(), name) != kOld.end()) return true;
  const auto parts = split(name, '/');
  const auto bad = [](const std::string& part) {
    return part.empty() || part.starts_with('.') || part.find(':') != part.npos;
  };
  // runs/mine is a path that is wrong, where there is a folder runs.
  return parts.size() == 2 && std::none_of(parts.begin(), parts.end(), bad) && !exists(parts[0]);
}

}  // namespace

std::string hub_words(const std::string& name) {
  if (!is_hub_name(name)) return "";
  return " (as a name on the Hugging Face hub it is not looked up: download it, and give its folder)";
}

}  // namespace bora::run
