// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: what several linear maps of one product share.
#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstdint>
#include <vector>

namespace bora::core::autograd {

/// The maps of a joint product as its node keeps them: `count` weights [n, k], then their biases [n] if there are any.
/// Input 0 of the node is what they map, and these are the next ones.
class JointPieces {
 public:
  using List = torch::autograd::variable_list;
  using Context = torch::autograd::AutogradContext;

  JointPieces(at::TensorList differentiated, std::int64_t count);
  explicit JointPieces(const Context& ctx);  ///< that save() has written
  void save(Context& ctx) const;

  /// The results of the maps, pieces of the product, as arrays of their own.
  List results(const at::Tensor& product) const;
  /// Whether a weight is differentiated.
  bool any_weight(Context& ctx) const;
  /// Gradients by input, of a node that has `others` beside these: those of weights are pieces of of_weights(type), those
  /// of biases of of_biases(type), which are called once for neighbours of one type.
  template <class OfWeights, class OfBiases>
  List gradients(Context& ctx, std::size_t others, const OfWeights& of_weights,
                 const OfBiases& of_biases) const {
    List out(sizes_.size() + others);
    put(ctx, 0, of_weights, out);
    if (std::ssize(sizes_) > count_) put(ctx, count_, of_biases, out);
    return out;
  }

 private:
  template <class All>
  void put(Context& ctx, std::int64_t begin, const All& all, List& out) const {
    at::Tensor whole;
    std::int64_t first = 0;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(begin + count_);
         first += sizes_[i++]) {
      if (!ctx.needs_input_grad(i + 1)) continue;
      const auto type = static_cast<at::ScalarType>(types_[i]);
      if (!whole.defined() || whole.scalar_type() != type) whole = all(type);
      out[i + 1] = whole.narrow(0, first, sizes_[i]);
    }
  }

  std::int64_t count_;
  std::vector<std::int64_t> sizes_, types_;
};

/// The gradients of the results as one array.
at::Tensor joined_gradient(const torch::autograd::variable_list& pieces);
/// The sum over all dimensions but the last.
at::Tensor over_rows(at::ScalarType type, const at::Tensor& gradient);

}  // namespace bora::core::autograd
