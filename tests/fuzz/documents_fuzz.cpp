// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A file of documents (jsonl, json or text, plain or compressed: the first byte tells), whole and, where the
// layout can be cut, in two ranges, which must give the same text.
#include <array>

#include "fuzz.h"
#include "memory_files.h"
#include "text_between.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  constexpr std::array<const char*, 12> kNames = {"a.jsonl",   "a.json",      "a.txt",       "a.jsonl.gz",
                                                  "a.json.gz", "a.txt.gz",    "a.jsonl.zst", "a.json.zst",
                                                  "a.txt.zst", "a.jsonl.bz2", "a.json.bz2",  "a.txt.bz2"};
  std::string_view input = fuzz::text_of(data, size);
  const std::string name = kNames[fuzz::take_byte(input) % kNames.size()];
  const std::uint8_t cut = fuzz::take_byte(input);
  const fuzz::MemoryFiles files({{name, std::string(input)}});
  return fuzz::refuse_or_accept([&] {
    const store::Source source{name, input.size(), 0};
    const std::string whole = fuzz::text_between(source, {}, 0, source.size);
    if (name == "a.json" || name.size() > 7) return;
    const std::uint64_t middle = source.size * cut / 256;
    if (fuzz::text_between(source, {}, 0, middle) + fuzz::text_between(source, {}, middle, source.size) !=
        whole)
      __builtin_trap();
  });
}
