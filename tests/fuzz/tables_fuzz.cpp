// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A Parquet or Arrow file, read by the plug-in (the first byte tells as what, and whether a column or whole rows of it):
// whole and, where it has parts, in two ranges, which must give the same text.
#include <array>

#include "fuzz.h"
#include "memory_files.h"
#include "text_between.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  constexpr std::array<const char*, 3> kNames = {"a.parquet", "a.arrow", "a.feather"};
  std::string_view input = fuzz::text_of(data, size);
  const std::uint8_t choice = fuzz::take_byte(input), cut = fuzz::take_byte(input);
  const std::string name = kNames[choice % kNames.size()];
  const fuzz::MemoryFiles files({{name, std::string(input)}});
  return fuzz::refuse_or_accept([&] {
    const store::TextFormat format{.whole_records = choice >= 128};
    const store::Source source{name, input.size(), 0};
    const std::string whole = fuzz::text_between(source, format, 0, source.size);
    const std::uint64_t middle = source.size * cut / 256;
    if (fuzz::text_between(source, format, 0, middle) +
            fuzz::text_between(source, format, middle, source.size) !=
        whole)
      __builtin_trap();
  });
}
