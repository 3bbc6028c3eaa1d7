// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The header of a safetensors file whose data has 64 bytes.
#include "bora/checkpoint/safetensors_header.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  return fuzz::refuse_or_accept([&] {
    const auto header = checkpoint::parse_safetensors_header(fuzz::text_of(data, size), 64, "a.safetensors");
    std::uint64_t end = 0;
    for (const auto& tensor : header.tensors) {
      if (tensor.begin != end || tensor.end > 64) __builtin_trap();
      end = tensor.end;
    }
  });
}
