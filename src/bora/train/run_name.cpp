// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/run_name.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

namespace bora::train {
namespace {

constexpr std::array<std::string_view, 32> kManners = {
    "brisk", "calm",  "clear", "eager",  "early", "fair",   "fond",  "gentle", "glad", "grand", "happy",
    "keen",  "kind",  "light", "lively", "lucid", "mellow", "merry", "mild",   "neat", "noble", "patient",
    "plain", "proud", "quick", "quiet",  "sharp", "steady", "sunny", "swift",  "warm", "wise"};
constexpr std::array<std::string_view, 32> kAnimals = {
    "otter", "heron",   "lynx",  "badger", "crane", "falcon", "finch", "fox",   "gecko", "hare",  "ibex",
    "jay",   "kestrel", "lark",  "marten", "mole",  "newt",   "owl",   "panda", "quail", "raven", "robin",
    "seal",  "shrew",   "stork", "swan",   "tapir", "tern",   "trout", "vole",  "wren",  "yak"};

}  // namespace

std::string run_name(const Hash128& configuration) {
  auto h = configuration.low;
  return fmt::format("{}-{}-{}", kManners[h % 32], kAnimals[h / 32 % 32], h / 1024 % 100);
}

}  // namespace bora::train
