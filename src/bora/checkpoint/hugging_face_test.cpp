// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/hugging_face.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/checkpoint/safetensors_writer.h"
#include "bora/checkpoint/stored_tensors.h"
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

std::string message_of(const std::function<void()>& body) {
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
  EXPECT_THAT(message_of([&] { load_hugging_face(folder("three"), four.parameters); }),
              HasSubstr("\n1 missing:\n  mlp.experts.3.up.weight [2, 4]\nhint: "));
  EXPECT_THAT(message_of([&] { load_hugging_face(folder("three"), two.parameters); }),
              HasSubstr("\n1 without a place in the model:\n  mlp.experts.2.up.weight [2, 4] in " +
                        folder("three") + "/model.safetensors\nhint: "));
}

// Two halves of a gated MLP, [expert 2, out 2, in 3] and [expert 2, out 2], whose columns alternate, and a map alone.
struct Halves {
  explicit Halves(float from) {
    const auto add = [&](std::size_t i, std::vector<std::int64_t> sizes, const std::string& name) {
      const auto rank = sizes.size();
      arrays[i] = Model::numbered(from + 100 * float(i), {Model::kExpertNames, rank}, sizes);
      core::Parameter p{.id = i, .path = "map" + std::to_string(i)};
      p.axes.assign(Model::kExpertNames, Model::kExpertNames + rank);
      if (rank == 3) p.inputs = {"in"};
      if (rank == 2) p.role = core::Role::bias;
      p.array = &arrays[i];
      for (const auto& piece : hf_pieces(p, name, false)) parameters.push_back(piece);
    };
    add(0, {2, 2, 3}, "gate_up[::2]");
    add(1, {2, 2}, "gate_up_bias[::2]");
    add(2, {2, 2, 3}, "gate_up[1::2]");
    add(3, {2, 2}, "gate_up_bias[1::2]");
    add(4, {2, 1, 3}, "down[::1]");
  }
  std::array<core::Array, 5> arrays;
  std::vector<HfParameter> parameters;
};

TEST(HuggingFaceColumns, OfSeveralParametersAreOneTensor) {
  const Halves halves(0);
  ASSERT_EQ(halves.parameters.size(), 5U);
  EXPECT_EQ(hf_shape(halves.parameters[2]), (std::vector<std::int64_t>{2, 3, 4}));
  save_hugging_face(folder("columns"), halves.parameters, Json::object());
  const SafetensorsFile file(folder("columns") + "/model.safetensors");
  ASSERT_EQ(file.tensors().size(), 3U);
  EXPECT_EQ(file.at("gate_up").shape, (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(file.floats("gate_up"), (std::vector<float>{0, 200, 3, 203, 1, 201, 4,  204, 2, 202, 5,  205,  //
                                                        6, 206, 9, 209, 7, 207, 10, 210, 8, 208, 11, 211}));
  EXPECT_EQ(file.at("gate_up_bias").shape, (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(file.floats("gate_up_bias"), (std::vector<float>{100, 300, 101, 301, 102, 302, 103, 303}));
  EXPECT_EQ(file.at("down").shape, (std::vector<std::int64_t>{2, 3, 1}));
  EXPECT_EQ(file.floats("down"), (std::vector<float>{400, 401, 402, 403, 404, 405}));
  const Halves back(1000), taken(2000);
  load_hugging_face(folder("columns"), back.parameters);
  std::vector<std::vector<float>> whole;
  load_hugging_face(folder("columns"), taken.parameters, [&](const HfParameter&, const core::Array& values) {
    whole.push_back(values.to_vector<float>());
  });
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(back.arrays[i].to_vector<float>(), halves.arrays[i].to_vector<float>()) << i;
    EXPECT_EQ(whole[i], halves.arrays[i].to_vector<float>()) << i;
  }
}

TEST(HuggingFaceColumns, OfAnotherShapeAreNamedOnce) {
  const std::vector<float> values(24, 1.F);
  files().make_directories(folder("columns_unfit"));
  write_safetensors(folder("columns_unfit") + "/model.safetensors",
                    {tensor_of_floats("gate_up", core::DType::f32, {2, 4, 3}, values)});
  const Halves halves(0);
  EXPECT_THAT(
      message_of([&] { load_hugging_face(folder("columns_unfit"), halves.parameters); }),
      HasSubstr("\n2 missing:\n  gate_up_bias [2, 4]\n  down [2, 3, 1]\n1 of another shape:\n  gate_up is "
                "[2, 4, 3] in " +
                folder("columns_unfit") + "/model.safetensors but the model's map0 needs [2, 3, 4]\n"));
}

TEST(HuggingFaceColumns, OtherSlicesAreRefused) {
  for (const std::string slice : {"[::]", "[2::2]", "[-1::2]", "[1]", "[::2", "[::2].weight", "[a::2]"}) {
    EXPECT_EQ(message_of([&] { hf_pieces({}, "up" + slice, false); }),
              "up" + slice + ": no slice of columns\nhint: [first::step], first below step, as in [1::2]");
  }
}

// All that differs is in one error, and nothing was read before it.
TEST(HuggingFaceFit, EveryDifferenceIsListedAtOnce) {
  const std::string at = folder("unfit") + "/model.safetensors";
  files().make_directories(folder("unfit"));
  const std::vector<float> values(12, 7.F);
  const auto tensor = [&](const std::string& name, std::vector<std::int64_t> shape) {
    std::int64_t n = 1;
    for (auto size : shape) n *= size;
    return tensor_of_floats(name, core::DType::f32, shape, std::span(values).first(std::size_t(n)));
  };
  write_safetensors(at, {tensor("bias", {6}), tensor("mlp.experts.0.up.weight", {2, 4}),
                         tensor("mlp.experts.1.up.weight", {4, 2}), tensor("other", {3}),
                         tensor("h.0.attn.bias", {1, 1, 3})});
  const Model model(100);
  const auto before = model.weight.to_vector<float>();
  try {
    load_hugging_face(folder("unfit"), model.parameters);
    FAIL() << "loaded";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Corruption);
    EXPECT_THAT(
        std::string(e.what()),
        HasSubstr("the tensors are not those of the model\n1 missing:\n  mlp.experts.2.up.weight [2, 4]"
                  "\n2 of another shape:\n  mlp.experts.1.up.weight is [4, 2] in " +
                  at + " but the model's mlp.up.weight needs [2, 4]\n  bias is [6] in " + at +
                  " but the model's bias needs [5]\n1 without a place in the model:\n  other [3] in " + at +
                  "\nhint: config.json and the tensors disagree, or the model has parts"));
  }
  EXPECT_EQ(model.weight.to_vector<float>(), before);
}

TEST(HuggingFaceFit, LongListsAreCut) {
  const Model few(1, 1), many(1, 121);
  save_hugging_face(folder("few"), few.parameters, Json::object());
  const auto message = message_of([&] { load_hugging_face(folder("few"), many.parameters); });
  EXPECT_THAT(message, HasSubstr("\n120 missing:\n"));
  EXPECT_THAT(message, HasSubstr("mlp.experts.100.up.weight [2, 4]\n  and 20 more\n"));
}

TEST(HuggingFaceDtype, IsWrittenInBothSpellings) {
  const Model model(1);
  save_hugging_face(folder("dtype"), model.parameters, Json::object(), {.dtype = core::DType::bf16});
  const auto json = parse_json(read_text(folder("dtype") + "/config.json"), "config.json");
  EXPECT_EQ(json["dtype"], "bfloat16");
  EXPECT_EQ(json["torch_dtype"], "bfloat16");
}

TEST(HuggingFaceDtype, FloatingNumbersAreWrittenAsSuch) {
  const Model model(1);
  const Json given = {{"final_logit_softcapping", 4},
                      {"hidden_size", 4},
                      {"clip_qkv", nullptr},
                      {"attn_config", {{"clip_qkv", 6}}}};
  save_hugging_face(folder("floats"), model.parameters, given);
  const auto json = parse_json(read_text(folder("floats") + "/config.json"), "config.json");
  EXPECT_TRUE(json["final_logit_softcapping"].is_number_float());
  EXPECT_TRUE(json["attn_config"]["clip_qkv"].is_number_float());
  EXPECT_TRUE(json["hidden_size"].is_number_integer());
  EXPECT_TRUE(json["clip_qkv"].is_null());
}

TEST(StoredTensors, PickleFilesAreRefusedWithTheWayToConvertThem) {
  const Model model(1);
  for (const std::string name :
       {"pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "model.pt", "model.pth", "last.ckpt"}) {
    const auto directory = folder("pickle_" + name);
    remove_all(directory);
    files().make_directories(directory);
    write_atomically(directory + "/" + name, "\x80");
    for (const auto& path : {directory, directory + "/" + name})
      EXPECT_THAT(
          message_of([&] { open_stored_tensors(path); }),
          HasSubstr(directory + "/" + name +
                    " is a pickle file, which can run any program when it is read; Bora reads "
                    "safetensors\nhint: where you trust it, convert it with transformers: "
                    "AutoModelForCausalLM.from_pretrained(directory).save_pretrained(new_directory)"));
    save_hugging_face(directory, model.parameters, Json::object());
    write_atomically(directory + "/" + name, "\x80");
    EXPECT_TRUE(open_stored_tensors(directory)->contains("bias"));  // safetensors beside it count
  }
}

TEST(StoredTensors, SayWhatTheyAre) {
  const Model model(1);
  save_hugging_face(folder("info"), model.parameters, Json::object(), {.dtype = core::DType::f16});
  const auto tensors = open_stored_tensors(folder("info"));
  const auto bias = tensors->find("bias");
  ASSERT_TRUE(bias);
  EXPECT_EQ(bias->shape, (std::vector<std::int64_t>{5}));
  EXPECT_EQ(bias->type, "F16");
  EXPECT_EQ(bias->file, folder("info") + "/model.safetensors");
  EXPECT_EQ(tensors->floats("bias"), model.bias.to_vector<float>());
  EXPECT_FALSE(tensors->find("bia"));
  EXPECT_THAT(message_of([&] { tensors->floats("bia"); }), HasSubstr("bias"));
}

}  // namespace
}  // namespace bora::checkpoint
