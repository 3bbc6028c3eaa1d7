// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A configuration file, a NUL, and an override.
#include "bora/base/config.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  std::string_view rest = fuzz::text_of(data, size);
  const std::string_view yaml = fuzz::take_until(rest, '\0');
  const std::string_view key = fuzz::take_until(rest, '\0');
  return fuzz::refuse_or_accept([&] {
    ConfigTree tree;
    tree.merge_text(yaml, "a.yaml");
    if (!key.empty()) tree.override_value(key, rest);
    const std::string written = tree.yaml();
    if (written == "~\n") return;  // nothing but a null
    ConfigTree again;
    again.merge_text(written, "b.yaml");
    if (again.yaml() != written) __builtin_trap();
  });
}
