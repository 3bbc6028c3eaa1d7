// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/hugging_face.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/core/create.h"

namespace bora::checkpoint {
namespace {

using ::testing::HasSubstr;

// Weights [expert, out, in] of three experts, stored in a tensor each, and a bias beside them.
struct Model {
  explicit Model(float from, std::int64_t experts = 3)
      : weight(numbered(from, kExpertNames, {experts, 2, 4})), bias(numbered(from, {kExpertNames, 1}, {5})) {
    core::Parameter w{.path = "mlp.up.weight"}, b{.id = 1, .path = "bias"};
    w.axes.assign(std::begin(kExpertNames), std::end(kExpertNames));
    w.inputs = {"in"};
    w.array = &weight;
    b.axes = {"expert"};
    b.role = core::Role::bias;
    b.array = &bias;
    parameters = hf_pieces(w, "mlp.experts.{}.up.weight", false);
    for (const auto& p : hf_pieces(b, "bias", false)) parameters.push_back(p);
  }
  static core::Array numbered(float from, core::Names names, std::vector<std::int64_t> sizes) {
    const auto n = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
    std::vector<float> values(static_cast<std::size_t>(n));
    std::iota(values.begin(), values.end(), from);
    return core::from_data({names, sizes}, std::span<const float>(values));
  }
  static constexpr std::string_view kExpertNames[] = {"expert", "out", "in"};
  core::Array weight, bias;
  std::vector<HfParameter> parameters;
};

std::string folder(const std::string& name) { return testing::TempDir() + "bora_hugging_face_" + name; }

std::string error_of(const std::function<void()>& body) {
  try {
    body();
    return "no error";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(HuggingFacePieces, AreTensorsOfTheirOwn) {
  const Model model(1);
  ASSERT_EQ(model.parameters.size(), 4U);
  EXPECT_EQ(model.parameters[2].name, "mlp.experts.2.up.weight");
  EXPECT_EQ(hf_shape(model.parameters[2]), (std::vector<std::int64_t>{2, 4}));
  save_hugging_face(folder("pieces"), model.parameters, Json::object());
  const SafetensorsFile file(folder("pieces") + "/model.safetensors");
  EXPECT_EQ(file.tensors().size(), 4U);
  EXPECT_EQ(file.floats("mlp.experts.1.up.weight"), (std::vector<float>{9, 10, 11, 12, 13, 14, 15, 16}));
  const Model back(100);
  load_hugging_face(folder("pieces"), back.parameters);
  EXPECT_EQ(back.weight.to_vector<float>(), model.weight.to_vector<float>());
  EXPECT_EQ(back.bias.to_vector<float>(), model.bias.to_vector<float>());
}

TEST(HuggingFacePieces, OfAParameterThatIsNotInMemory) {
  const Model model(1), elsewhere(50);
  save_hugging_face(folder("values"), model.parameters, Json::object(), {.values = [&](const HfParameter& p) {
                      return p.parameter.id == 0 ? elsewhere.weight : elsewhere.bias;
                    }});
  const Model back(100);
  std::vector<std::vector<float>> taken;
  load_hugging_face(folder("values"), back.parameters, [&](const HfParameter&, const core::Array& whole) {
    taken.push_back(whole.to_vector<float>());
  });
  EXPECT_EQ(taken, (std::vector<std::vector<float>>{elsewhere.weight.to_vector<float>(),
                                                    elsewhere.bias.to_vector<float>()}));
}

TEST(HuggingFacePieces, MissingAndUnknownOnesAreNamed) {
  const Model three(1), two(1, 2), four(1, 4);
  save_hugging_face(folder("three"), three.parameters, Json::object());
  EXPECT_THAT(error_of([&] { load_hugging_face(folder("three"), four.parameters); }),
              HasSubstr("mlp.experts.3.up.weight"));
  EXPECT_THAT(error_of([&] { load_hugging_face(folder("three"), two.parameters); }),
              HasSubstr("1 tensors of the file have no place in the model: mlp.experts.2.up.weight"));
}

}  // namespace
}  // namespace bora::checkpoint
