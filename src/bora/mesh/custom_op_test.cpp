// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/custom_op.h"

#include <gtest/gtest.h>

#include "bora/core/contract.h"
#include "bora/mesh/test_layouts.h"

namespace bora::mesh {
namespace {

using namespace testing;
using core::Binary;
using In = std::span<const Operand>;

constexpr std::string_view kBe[] = {"b", "e"}, kB[] = {"b"}, kE[] = {"e"};

// y[b] = sum over e of x[b, e] · w[e]
core::CustomOp weigh() {
  return core::CustomOp({.name = "weigh",
                         .forward = [](In in) { return core::dot(in[0], in[1], kB); },
                         .backward =
                             [](In in, const Operand&, const Operand& g) {
                               return std::vector<Array>{core::dot(g, in[1], kBe), core::dot(g, in[0], kE)};
                             },
                         .cut = {"b"},
                         .summed = {"e"}});
}

// y = softmax of x over e, which it needs whole
core::CustomOp share() {
  return core::CustomOp({.name = "share",
                         .forward = [](In in) { return core::softmax(in[0], kE); },
                         .backward =
                             [](In, const Operand& y, const Operand& g) {
                               const Array weighed = core::binary(Binary::multiply, y, g, kBe);
                               const Array sum = core::reduce(core::Reduction::sum, {weighed, kBe}, kE);
                               const Array rest = core::binary(Binary::subtract, g, {sum, kB}, kBe);
                               return std::vector<Array>{core::binary(Binary::multiply, y, {rest, kBe}, kBe)};
                             },
                         .cut = {"b"},
                         .summed = {}});
}

// Along a cut axis, along a summed one, and along one that must be gathered.
TEST(CustomOpOnAMesh, IsAsOnOneRank) {
  const Case cases[] = {
      {"weigh", {{{"b", "e"}, {4, 8}}, {{"e"}, {8}}}, [](In in) { return Result{weigh()(in, kB), {"b"}}; }},
      {"share", {{{"b", "e"}, {4, 8}}}, [](In in) { return Result{share()(in, kBe), {"b", "e"}}; }},
  };
  const Layout layouts[] = {
      {{.model = 2}, {{{"e", "model"}}, {}}, "e over two"},
      {{.model = 2}, {{{"b", "model"}}, {}}, "b over two"},
      {{.model = 2}, {{{"e", "model"}}, {{"e", "model"}}}, "parameters cut along e"},
      {{.model = 4}, {{{"b", "model"}}, {{"b", "model"}}}, "parameters cut along b, four"}};
  for (const Case& c : cases) expect_like_one(c, layouts);
}

}  // namespace
}  // namespace bora::mesh
