// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A Megatron .idx, beside a .bin of 64 bytes.
#include "bora/store/token_files.h"
#include "fuzz.h"
#include "memory_files.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  const fuzz::MemoryFiles files(
      {{"a.idx", std::string(fuzz::text_of(data, size))}, {"a.bin", std::string(64, '\1')}});
  return fuzz::refuse_or_accept([&] {
    std::vector<std::int32_t> ids;
    bool ends = false;
    const auto documents = store::open_token_file("a.idx", store::TokenFiles::Megatron);
    while (documents->next(ids, ends)) continue;
  });
}
