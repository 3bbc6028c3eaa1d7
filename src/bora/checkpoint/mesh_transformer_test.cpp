// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/mesh_transformer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"

namespace bora::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

struct Leaf {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
Leaf filled(std::vector<std::int64_t> shape, float value) {
  std::int64_t n = 1;
  for (const auto size : shape) n *= size;
  return {std::move(shape), std::vector<float>(static_cast<std::size_t>(n), value)};
}

std::string npy(const Leaf& leaf) {
  std::string shape;
  for (const auto n : leaf.shape) shape += std::to_string(n) + ", ";
  auto header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", shape);
  header.resize(117, ' ');
  header += '\n';
  std::string out = "\x93NUMPY";
  put<std::uint8_t>(out, 1), put<std::uint8_t>(out, 0);
  put(out, static_cast<std::uint16_t>(header.size()));
  out += header;
  for (const float x : leaf.values) put(out, x);
  return out;
}

// An archive of stored files.
std::string zip(const std::vector<Leaf>& leaves, std::uint16_t method = 0) {
  std::string out, directory;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto content = npy(leaves[i]), name = fmt::format("arr_{}.npy", i);
    const auto size = static_cast<std::uint32_t>(content.size()), at = static_cast<std::uint32_t>(out.size());
    const auto name_size = static_cast<std::uint16_t>(name.size());
    put<std::uint32_t>(out, 0x04034b50), out.append(4, '\0'), put(out, method), out.append(8, '\0');
    put(out, size), put(out, size), put(out, name_size), put<std::uint16_t>(out, 0);
    out += name + content;
    put<std::uint32_t>(directory, 0x02014b50), directory.append(6, '\0'), put(directory, method);
    directory.append(8, '\0');
    put(directory, size), put(directory, size), put(directory, name_size), directory.append(12, '\0');
    put(directory, at);
    directory += name;
  }
  const auto count = static_cast<std::uint16_t>(leaves.size());
  const auto start = static_cast<std::uint32_t>(out.size());
  out += directory;
  put<std::uint32_t>(out, 0x06054b50), out.append(4, '\0'), put(out, count), put(out, count);
  put(out, static_cast<std::uint32_t>(directory.size())), put(out, start), put<std::uint16_t>(out, 0);
  return out;
}

// One shard of a model of width 2 with 3 ids, whose layers are filled with their numbers.
std::vector<Leaf> state(std::size_t layers) {
  std::vector<std::string> order;
  for (std::size_t i = 0; i < layers; ++i) order.push_back(std::to_string(i));
  std::sort(order.begin(), order.end());
  std::vector<Leaf> out = {filled({}, 7), filled({2}, 0.5F), filled({3, 2}, 1)};
  for (const auto& number : order) {
    const auto x = static_cast<float>(std::stoi(number));
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{
             {2, 2}, {2, 2}, {2, 2}, {2, 2}, {8}, {2, 8}, {2}, {8, 2}, {2}, {2}})
      out.push_back(filled(shape, x));
  }
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{3}, {2, 3}, {2}, {2}, {}})
    out.push_back(filled(shape, -1));
  return out;
}

class MeshTransformer : public testing::Test {
 protected:
  void write(const std::vector<Leaf>& leaves, std::uint16_t method = 0) {
    folder_ = testing::TempDir() + "bora_mesh_transformer";
    remove_all(folder_);
    files().make_directories(folder_ + "/shard_0");
    for (std::size_t piece = 0; piece < 16; ++piece) {
      const auto begin = std::min(leaves.size(), piece * 9), end = std::min(leaves.size(), begin + 9);
      write_atomically(folder_ + fmt::format("/shard_0/{}.npz", piece),
                       zip({leaves.begin() + static_cast<std::ptrdiff_t>(begin),
                            leaves.begin() + static_cast<std::ptrdiff_t>(end)},
                           method));
    }
  }
  std::string refusal() const {
    try {
      MeshTransformerModel model(folder_);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  std::string folder_;
};

TEST_F(MeshTransformer, LayersAreSortedAsText) {
  write(state(12));
  const MeshTransformerModel model(*mesh_checkpoint(folder_));
  EXPECT_EQ(model.names().size(), 12U * 10 + 5);
  for (const int layer : {0, 1, 2, 10, 11})
    EXPECT_EQ(model.floats(fmt::format("transformer.h.{}.attn.q_proj.weight", layer)),
              std::vector<float>(4, static_cast<float>(layer)));
  EXPECT_EQ(model.find("transformer.h.3.mlp.fc_in.weight")->shape, (std::vector<std::int64_t>{8, 2}));
  EXPECT_EQ(model.find("lm_head.weight")->shape, (std::vector<std::int64_t>{3, 2}));
  EXPECT_THAT(model.floats("transformer.wte.weight"), ElementsAre(1.5F, 1.5F, 1.5F, 1.5F, 1.5F, 1.5F));
  EXPECT_THROW((void)model.floats("transformer.h.12.ln_1.bias"), Error);
}

TEST_F(MeshTransformer, RefusesWhatIsNone) {
  auto leaves = state(2);
  leaves.erase(leaves.begin() + 5);
  write(leaves);
  EXPECT_THAT(refusal(),
              HasSubstr("holds no GPT-J of mesh-transformer-jax: its 27 arrays a shard do not end"));
  write(state(2), 8);
  EXPECT_THAT(refusal(), HasSubstr("arr_0.npy is compressed (method 8)"));
  write(state(2));
  files().remove(folder_ + "/shard_0/3.npz");
  EXPECT_THAT(refusal(), HasSubstr("shard_0/3.npz is missing"));
  const auto path = folder_ + "/shard_0/2.npz", whole = read_text(path);
  for (const std::size_t size : {std::size_t{0}, std::size_t{30}, whole.size() / 2, whole.size() - 1}) {
    write(state(2));
    write_atomically(path, whole.substr(0, size));
    EXPECT_THAT(refusal(), HasSubstr("2.npz: is no file of numpy.savez")) << size;
  }
  for (std::size_t i = 0; i < whole.size(); i += 11) {  // no byte leads out of the file
    auto changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    write_atomically(path, changed);
    try {
      NpzFile file(path);
    } catch (const Error&) {
    }
  }
}

TEST_F(MeshTransformer, NeedsTheConfiguration) {
  write(state(2));
  const auto config = folder_ + "/6B.json";
  const auto refused = [&] {
    try {
      (void)mesh_config(folder_);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused(), HasSubstr("without the configuration that it was trained with"));
  Json json = {{"layers", 2}, {"d_model", 2}, {"n_heads", 1}, {"n_vocab", 3}, {"seq", 8}, {"pe", "t5"}};
  write_atomically(config, json.dump());
  EXPECT_THAT(refused(), HasSubstr("6B.json: pe is \"t5\", and a GPT-J has \"rotary\""));
  json["pe"] = "rotary";
  write_atomically(config, json.dump());
  EXPECT_EQ(mesh_config(folder_)["n_embd"], 2);
  EXPECT_EQ(mesh_config(folder_)["rotary_dim"], 64);
  EXPECT_EQ(mesh_checkpoint(testing::TempDir()), std::nullopt);
}

}  // namespace
}  // namespace bora::checkpoint
