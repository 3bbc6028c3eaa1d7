// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/read_back.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>

#include "bora/base/error.h"
#include "bora/core/grad.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/shard.h"
#include "bora/core/torch/node.h"

namespace bora::core {

Number::Number(const Array& array) {
  if (array.empty() || tensor(array).is_cpu() || array.numel() != 1) {
    value_ = array.item();  // or its refusal
    return;
  }
  require_final("item", array);
  array_ = stop_gradient(array);
}

double Number::value() const { return array_.empty() ? value_ : array_.item(); }

std::size_t ReadBack::add(const Array& x) {
  if (x.empty() || tensor(x).is_cpu()) {
    pieces_.push_back({{}, x.to_vector<double>()});
  } else {
    require_final("read back", x);
    pieces_.push_back({x, {}});
  }
  return pieces_.size() - 1;
}

std::size_t ReadBack::add(const Number& x) {
  if (!x.array_.empty()) return add(x.array_);
  pieces_.push_back({{}, {x.value_}});
  return pieces_.size() - 1;
}

// One array of all elements on a device, copied at once.
void ReadBack::wait() try {
  for (std::size_t first = 0; first < pieces_.size(); ++first) {
    if (pieces_[first].array.empty()) continue;
    const auto device = tensor(pieces_[first].array).device();
    std::vector<at::Tensor> there;
    std::vector<Piece*> waiting;
    for (auto& piece : pieces_) {
      if (piece.array.empty() || tensor(piece.array).device() != device) continue;
      there.push_back(tensor(piece.array).detach().reshape({-1}).to(at::kDouble));
      waiting.push_back(&piece);
    }
    const at::Tensor here = at::cat(there).to(at::kCPU);
    const double* at = here.const_data_ptr<double>();
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      waiting[i]->values.assign(at, at + there[i].numel());
      waiting[i]->array = {};
      at += there[i].numel();
    }
  }
} catch (...) {
  rethrow("read back", {});
}

std::span<const double> ReadBack::values(std::size_t place) const {
  if (place < pieces_.size() && pieces_[place].array.empty()) return pieces_[place].values;
  fail(ErrorKind::InvalidArgument, "read back: place {} of {} has {}", place, pieces_.size(),
       place < pieces_.size() ? "not been waited for" : "not been added");
}

}  // namespace bora::core
