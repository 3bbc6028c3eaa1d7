// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <utility>
#include <vector>

#include "bora/core/hessian.h"
#include "bora/named/fields.h"
#include "bora/named/grad.h"
#include "bora/named/named.h"

namespace bora {

/// H·v of a scalar function of a model, whose second derivatives by the parameters are H: models of the same
/// type, that hold the gradient and the product.
template <class M>
struct HessianProduct {
  Named<> value;
  M gradients, products;
};

/// `f` takes the model and returns Named<>; `v` has the model's shape. Costs and errors as
/// core::hessian_vector_product: every op has second derivatives, but not over several ranks.
template <Module M, class F, class Loss = detail::loss_of<F, M>>
HessianProduct<M> hessian_vector_product(M& model, F&& f, const M& v) {
  M vector = v;
  std::vector<core::Array*> arrays;
  std::vector<core::Array> along;
  for (auto& p : parameters(model)) arrays.push_back(p.array);
  for (auto& p : parameters(vector)) along.push_back(*p.array);
  auto result = core::hessian_vector_product(arrays, [&] { return Named<>(f(model)).array(); }, along);
  HessianProduct<M> out{Named<>::adopt(std::move(result.value)), model, model};
  const auto put = [](M& into, std::vector<core::Array>& values) {
    auto places = parameters(into);
    for (std::size_t i = 0; i < places.size(); ++i) *places[i].array = std::move(values[i]);
  };
  put(out.gradients, result.gradients);
  put(out.products, result.products);
  return out;
}
template <Module M, class F, class Loss = detail::loss_of<F, M>>
  requires NoScalar<Loss>
__attribute__((unavailable("the loss must be Named<>: take mean_all, or sum over the axes that it has"))) Loss
hessian_vector_product(M& model, F&& f, const M& v);

}  // namespace bora
