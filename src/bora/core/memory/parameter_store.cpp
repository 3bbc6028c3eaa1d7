// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/parameter_store.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>

#include <memory>
#include <optional>
#include <utility>

#include "bora/base/error.h"
#include "bora/core/cast_once.h"
#include "bora/core/grad.h"
#include "bora/core/torch/node.h"

namespace bora::core {
namespace {

thread_local ParameterStore* current_store = nullptr;

// Other arrays that share the memory (what the backward pass saved) lose and regain their values with it.
c10::StorageImpl& own_storage(const Array& x) {
  const at::Tensor& t = tensor(x);
  const auto bytes = static_cast<std::size_t>(t.numel()) * t.element_size();
  auto* storage = t.storage().unsafeGetStorageImpl();
  const bool whole = storage->nbytes() == bytes || storage->nbytes() == 0;
  if (!t.is_contiguous() || t.storage_offset() != 0 || !whole) {
    fail(ErrorKind::InvalidArgument, "parameter store: an array of {} elements is a part of another one",
         t.numel());
  }
  return *storage;
}

}  // namespace

ParameterStoreScope::ParameterStoreScope(ParameterStore& store)
    : before_(std::exchange(current_store, &store)) {}
ParameterStoreScope::~ParameterStoreScope() { current_store = before_; }

ParameterStore* parameter_store() { return current_store; }

std::vector<Array> with_parameters(std::vector<Array> parameters,
                                   const std::function<std::vector<Array>()>& f) {
  auto* store = parameter_store();
  if (store == nullptr) return f();
  store->need(parameters);
  auto results = [&] {
    // on a device copies of them in fewer bytes are made together, as those of all are where there is no store
    std::vector<Parameter> together;
    for (auto& p : parameters)
      if (!p.empty() && !tensor(p).is_cpu()) together.push_back({.array = &p});
    std::optional<CastOnceScope> once;
    if (!together.empty()) once.emplace(together);
    return f();
  }();
  if (!recording()) return results;
  // Before the backward pass enters what f recorded, from whichever result it comes first.
  const auto enter = [store, parameters = std::move(parameters), entered = std::make_shared<bool>(false)] {
    if (!std::exchange(*entered, true)) store->need(parameters);
  };
  const auto watch = [&](const Array& y) {
    if (!tensor(y).requires_grad()) return;
    tensor(y).register_hook([enter](const at::Tensor& gradient) {
      enter();
      return gradient;
    });
  };
  for (const auto& y : results) {
    const auto* sum = y.node()->pending.get();
    if (sum == nullptr) {
      watch(y);
      continue;
    }
    watch(sum->left);  // it waits for a norm, as without a store
    watch(sum->right);
  }
  return results;
}

bool values_present(const Array& x) { return x.numel() == 0 || own_storage(x).nbytes() != 0; }

void drop_values(Array& x) {
  auto& storage = own_storage(x);
  storage.set_data_ptr_noswap(c10::DataPtr(nullptr, storage.device()));
  storage.set_nbytes(0);
}

void make_room(Array& x) {
  auto& storage = own_storage(x);
  if (storage.nbytes() != 0) return;
  const auto bytes = static_cast<std::size_t>(x.numel()) * tensor(x).element_size();
  storage.set_data_ptr_noswap(storage.allocator()->allocate(bytes));
  storage.set_nbytes(bytes);
}

}  // namespace bora::core
