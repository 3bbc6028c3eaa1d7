// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core's tests: an op against plain torch, forward and gradient, with every order of its operands'
// axes.
#pragma once
#include <ATen/core/Formatting.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange_ops.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/elementwise.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/torch/device.h"

namespace bora::core::testing {

using at::Tensor;

/// Distinct, irregular values in (-1.7, 1.7).
inline Tensor values(at::IntArrayRef sizes, double seed = 0) {
  std::int64_t n = 1;
  for (const std::int64_t size : sizes) n *= size;
  const Tensor i = at::_ops::arange::call(n, at::kDouble, {}, {}, {});
  return i.mul(12.9898)
      .add(78.233 * (seed + 1))
      .sin()
      .mul(43758.5453)
      .frac()
      .mul(1.7)
      .to(at::kFloat)
      .view(sizes);
}

/// Whole numbers in [0, below), as i64.
inline Tensor integers(at::IntArrayRef sizes, std::int64_t below, double seed = 0) {
  return values(sizes, seed).abs().mul(997).to(at::kLong).remainder(below);
}

/// On the device where new arrays are made.
inline Tensor moved(const Tensor& x) { return x.to(new_array_device()); }

struct Named {
  Tensor tensor;
  NameList names;
};
struct Result {
  Array array;
  NameList names;
};
inline const NameList kAbc{"a", "b", "c"};
inline NameList list(Names names) { return {names.begin(), names.end()}; }

/// Whether other numbers have no result.
inline bool needs_positive(Unary op) {
  return op == Unary::log || op == Unary::log1p || op == Unary::sqrt || op == Unary::rsqrt;
}

using Mine = std::function<Result(std::span<const Operand>)>;
using Theirs = std::function<Tensor(const std::vector<Tensor>&)>;

inline void expect_close(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.sizes(), want.sizes()) << what;
  ASSERT_EQ(got.scalar_type(), want.scalar_type()) << what;
  EXPECT_TRUE(got.allclose(want, 1e-5, 2e-6, /*equal_nan=*/true))
      << what << "\ngot " << got << "\nwant " << want;
}

/// Recorded copies of floating inputs.
inline std::vector<Tensor> leaves(const std::vector<Named>& inputs) {
  std::vector<Tensor> out;
  for (const Named& x : inputs) {
    out.push_back(x.tensor.detach().clone().set_requires_grad(at::isFloatingType(x.tensor.scalar_type())));
  }
  return out;
}

/// Runs the backward pass with irregular weights, if there is one.
inline void pull_back(const Tensor& result) {
  ASSERT_TRUE(at::GradMode::is_enabled()) << "nothing is recorded: no gradient would be looked at";
  if (!result.requires_grad()) return;
  result.backward(values(result.sizes(), 17).to(result.scalar_type()));
}

/// Calls `visit(orders)` with every combination of the inputs' axis orders.
inline void each_order(const std::vector<Named>& inputs,
                       const std::function<void(const std::vector<Dims>&)>& visit) {
  std::vector<Dims> orders;
  for (const Named& x : inputs) {
    orders.emplace_back(x.names.size());
    std::iota(orders.back().begin(), orders.back().end(), 0);
  }
  std::size_t turned = 0;
  while (turned < orders.size()) {
    visit(orders);
    for (turned = 0; turned < orders.size(); ++turned) {
      if (std::next_permutation(orders[turned].begin(), orders[turned].end())) break;
    }
  }
}

/// `mine` on `inputs`, on the device where new arrays are made, each permuted as in `orders`; strided: without moving elements.
inline Result run(const Mine& mine, const std::vector<Named>& inputs, const std::vector<Tensor>& tensors,
                  const std::vector<Dims>& orders, bool strided) {
  std::vector<Array> arrays;
  std::vector<NameList> names(inputs.size());
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor turned = tensors[i].permute(orders[i]).to(new_array_device());
    arrays.push_back(wrap(strided ? turned : turned.contiguous()));
    for (const std::int64_t dim : orders[i]) names[i].push_back(inputs[i].names[dim]);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) operands.push_back({arrays[i], names[i]});
  return mine(operands);
}

/// Value (axes `names`, compared in that order) and the gradient of every floating input.
inline void expect_same(const std::vector<Named>& inputs, const NameList& names, const Mine& mine,
                        const Theirs& theirs) {
  const std::vector<Tensor> plain = leaves(inputs);
  const Tensor want = theirs(plain);
  pull_back(want);
  each_order(inputs, [&](const std::vector<Dims>& orders) {
    for (const bool strided : {false, true}) {
      const std::vector<Tensor> tensors = leaves(inputs);
      const Result result = run(mine, inputs, tensors, orders, strided);
      require_same_axes("test", names, result.names);
      const Tensor got = aligned(tensor(result.array), result.names, names).to(at::kCPU);
      expect_close(got.detach(), want.detach(), "value");
      ASSERT_EQ(got.requires_grad(), want.requires_grad());
      pull_back(got);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        ASSERT_EQ(tensors[i].grad().defined(), plain[i].grad().defined()) << "input " << i;
        if (plain[i].grad().defined()) expect_close(tensors[i].grad(), plain[i].grad(), "gradient");
      }
    }
  });
}

/// The message of the Error that `body` throws.
inline std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace bora::core::testing
