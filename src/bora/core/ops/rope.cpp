// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/rope.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <memory>

#include "bora/base/error.h"
#include "bora/core/autograd/rope.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/torch/node.h"

namespace bora::core {

Array rope(const Operand& x, std::string_view position, std::string_view dim, const Array& cos,
           const Array& sin, RopePairs pairs) try {
  Space space("rope", {x}, {&dim, 1});
  require("rope", x, position);
  require("rope", x, dim);
  if (cos.size(0) < space.size(position) || 2 * cos.size(1) > space.size(dim)) {
    fail(ErrorKind::InvalidArgument,
         "rope: angles for {} positions and {} dimensions do not fit {}\nhint: the sequence is longer than "
         "the model's seq_len, or head_dim is odd",
         cos.size(0), 2 * cos.size(1), describe(x));
  }
  NameList batch, heads;
  for (auto axis : x.names) {
    if (axis == position || axis == dim) continue;
    (find(x.names, axis) < find(x.names, position) ? batch : heads).push_back(axis);
  }
  NameList order = batch;
  order.push_back(position);
  order.insert(order.end(), heads.begin(), heads.end());
  order.push_back(dim);
  auto flat = reshaped(permuted(space.local(x), x.names, order),
                       {product(space, batch), space.part(position), product(space, heads), space.size(dim)});
  auto here = [&](const Array& angles) {
    const auto& all = tensor(angles);
    return space.first(position) == 0 ? all : all.narrow(0, space.first(position), space.part(position));
  };
  // In shards along their positions angles are cut anew each time: no two turns would have the same.
  if (mapping() == nullptr && std::ranges::equal(order, x.names) && autograd::turns_on_a_device(flat)) {
    Array later = wrap({});
    later.node()->turn = std::make_unique<PendingTurn>(
        PendingTurn{space.local(x), flat, here(cos), here(sin), pairs, at::GradMode::is_enabled()});
    return later;
  }
  auto y = reshaped(autograd::rope(flat, here(cos), here(sin), pairs), sizes_of(space, order));
  return space.label(permuted(y, order, x.names), x.names);
} catch (...) {
  rethrow("rope", {x});
}

}  // namespace bora::core
