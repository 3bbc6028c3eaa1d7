// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The zarr.json of an array, a NUL, and its first file.
#include "bora/store/zarr_array.h"
#include "fuzz.h"
#include "memory_files.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  std::string_view file = fuzz::text_of(data, size);
  const std::string json(fuzz::take_until(file, '\0'));
  const fuzz::MemoryFiles files({{"z/zarr.json", json}, {"z/c/0", std::string(file)}});
  return fuzz::refuse_or_accept([&] {
    store::ZarrReader reader("z");
    std::vector<std::int64_t> values(std::min<std::uint64_t>(reader.layout().size, 1000));
    reader.read(0, values);
  });
}
