// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The header of a GGUF file: what it accepts lies in the file.
#include "bora/checkpoint/gguf_header.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  return fuzz::refuse_or_accept([&] {
    const std::span file(reinterpret_cast<const std::byte*>(data), size);
    const auto header = checkpoint::parse_gguf_header(file, "a.gguf");
    for (const auto& tensor : header.tensors)
      if (tensor.begin >= tensor.end || header.data > size || tensor.end > size - header.data)
        __builtin_trap();
  });
}
