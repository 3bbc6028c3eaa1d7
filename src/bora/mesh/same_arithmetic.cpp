// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/same_arithmetic.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "bora/base/error.h"

namespace bora::mesh {

void require_same_arithmetic(Communicator& workers, std::string_view arithmetic) {
  if (workers.size() == 1) return;
  const auto all = all_gather_texts(workers, arithmetic);
  for (std::size_t w = 1; w < all.size(); ++w) {
    if (all[w] == all[0]) continue;
    const auto names = all_gather_texts(workers, workers.who());
    fail(ErrorKind::Unsupported,
         "the workers do not compute alike: {} with {}, {} with {}; the bits of the run would depend on who "
         "computes what\nhint: machines of one kind, or BORA_CPU_TARGET=AVX2 for all where only the "
         "instruction sets differ",
         names[0], all[0], names[w], all[w]);
  }
}

}  // namespace bora::mesh
