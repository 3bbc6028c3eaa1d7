// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A tfrecord file of token sequences.
#include "bora/store/token_files.h"
#include "fuzz.h"
#include "memory_files.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  const fuzz::MemoryFiles files({{"a.tfrecords", std::string(fuzz::text_of(data, size))}});
  return fuzz::refuse_or_accept([&] {
    std::vector<std::int32_t> ids;
    bool ends = false;
    const auto documents = store::open_token_file("a.tfrecords", store::TokenFiles::Tfrecord);
    while (documents->next(ids, ends)) continue;
  });
}
