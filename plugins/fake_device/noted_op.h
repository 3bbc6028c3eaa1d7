// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Ops of libtorch that the device has of its own, as they note themselves in a graph.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <cstring>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph.h"
#include "kernels.h"

namespace bora::fake_device {

/// The same elements, where the host reads and writes them.
inline at::Tensor host_view(const at::Tensor& x) {
  return at::from_blob(shadow(x.const_data_ptr()), x.sizes(), x.strides(),
                       at::TensorOptions().dtype(x.scalar_type()).device(at::kCPU));
}

/// The same array, of which nothing is kept alive.
inline at::Tensor lent(const at::Tensor& x) {
  if (!x.defined()) return x;
  c10::Storage storage(c10::Storage::use_byte_size_t(), x.storage().nbytes(),
                       c10::DataPtr(x.storage().mutable_data(), x.device()), nullptr, false);
  at::Tensor out = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), x.dtype());
  out.unsafeGetTensorImpl()->set_sizes_and_strides(x.sizes(), x.strides(), x.storage_offset());
  return out;
}
inline std::optional<at::Tensor> lent(const std::optional<at::Tensor>& x) {
  return x ? std::optional(lent(*x)) : x;
}
template <class T>
T lent(const T& x) {
  return x;
}
inline void put_into(const at::Tensor& to, const at::Tensor& from) {
  if (to.numel() > 0) std::memcpy(shadow(to.mutable_data_ptr()), shadow(from.const_data_ptr()), to.nbytes());
}

/// An op that notes itself: its results go to where they went.
template <auto F>
struct NotedOp;
template <class... R, class... A, std::tuple<R...> (*F)(A...)>
struct NotedOp<F> {
  static std::tuple<R...> call(A... a) {
    std::tuple<R...> results = F(a...);
    if (noting()) {
      const auto to =
          std::apply([](const auto&... r) { return std::vector<at::Tensor>{lent(r)...}; }, results);
      note([to, kept = std::tuple<std::decay_t<A>...>(lent(a)...)] {
        const auto again = std::apply(F, kept);
        std::apply(
            [&](const auto&... r) {
              std::size_t i = 0;
              (put_into(to[i++], r), ...);
            },
            again);
      });
    }
    return results;
  }
};
template <class... A, at::Tensor (*F)(A...)>
struct NotedOp<F> {
  static at::Tensor call(A... a) {
    at::Tensor result = F(a...);
    if (noting()) {
      note([to = lent(result), kept = std::tuple<std::decay_t<A>...>(lent(a)...)] {
        put_into(to, std::apply(F, kept));
      });
    }
    return result;
  }
};

}  // namespace bora::fake_device
