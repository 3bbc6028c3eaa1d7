// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Adapters in PEFT's files: what PEFT computes with them, and what the chain rule says of the merged model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/key.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/checkpoint/safetensors_writer.h"
#include "bora/models/model_types.h"
#include "bora/run/forward.h"
#include "bora/run/models.h"
#include "bora/run/peft.h"

namespace bora::run {
namespace {

using checkpoint::SafetensorsFile;
using testing::HasSubstr;
using Results = std::map<std::string, NamedResult>;

struct InputIds {
  std::vector<std::int32_t> ids;
  std::int64_t batch, positions;
};

InputIds ids_of(const SafetensorsFile& file) {
  const auto& t = file.at("input_ids");
  const auto bytes = file.bytes(t);
  InputIds out{{}, t.shape[0], t.shape[1]};
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    std::int64_t id;
    std::memcpy(&id, bytes.data() + i, 8);
    out.ids.push_back(static_cast<std::int32_t>(id));
  }
  return out;
}

Results results_of(nn::LanguageModel& model, const InputIds& ids) {
  return forward(model, ids.ids, ids.batch, ids.positions, {.grads = true});
}

void expect_like_peft(const std::string& name, const std::vector<float>& ours,
                      const std::vector<float>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size()) << name;
  const bool grad = name.starts_with("grad.");
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const double limit =
        name == "loss" ? 1e-5 : (grad ? 1e-5 : 5e-5) + (grad ? 1e-3 : 1e-4) * std::abs(theirs[i]);
    ASSERT_NEAR(ours[i], theirs[i], limit) << name << " at " << i;
  }
}

// The largest difference relative to the largest value.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
    size = std::max(size, std::abs(static_cast<double>(b[i])));
  }
  return most / size;
}

// --- what PEFT computes --------------------------------------------------------------------------------

const std::string kAdapters = BORA_SHARED_DIR "/data/finetune/", kModels = BORA_SHARED_DIR "/data/models/";

class Peft : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!exists(folder())) GTEST_SKIP() << "no reference adapter at " << folder();
    const auto base = base_of_peft(folder());
    if (base == "qwen3" && models::model_types().find(base) == nullptr)
      GTEST_SKIP() << "the type " << base << " is not built";
  }
  std::string folder() const { return kAdapters + GetParam(); }
  std::unique_ptr<nn::LanguageModel> adapted() const {
    auto model = load_model(kModels + base_of_peft(folder()));
    load_peft(*model, folder());
    return model;
  }
};

TEST_P(Peft, LogitsLossAndGradientsOfTheAdapter) {
  const SafetensorsFile reference(folder() + "/reference.safetensors");
  const auto model = adapted();
  const auto ours = results_of(*model, ids_of(reference));
  std::size_t gradients = 0;
  for (const auto& t : reference.tensors()) {
    if (!t.name.starts_with("grad.") && t.name != "logits" && t.name != "loss") continue;
    ASSERT_TRUE(ours.contains(t.name)) << t.name;
    EXPECT_EQ(ours.at(t.name).shape, t.shape) << t.name;
    expect_like_peft(t.name, ours.at(t.name).values, reference.floats(t.name));
    gradients += t.name.starts_with("grad.") ? 1 : 0;
  }
  EXPECT_EQ(gradients, SafetensorsFile(folder() + "/adapter_model.safetensors").tensors().size());
  EXPECT_EQ(ours.size(), gradients + 2) << "nothing but the adapter has gradients";
}

TEST_P(Peft, Merged) {
  const SafetensorsFile reference(folder() + "/reference.safetensors");
  const auto model = adapted();
  const auto ids = ids_of(reference);
  const auto before = results_of(*model, ids).at("logits").values;
  const auto merged = merged_values(*model);
  for (const auto& p : hf_parameters(*model))
    if (const auto name = "merged." + p.name; reference.find(name) != nullptr)
      expect_like_peft(name, merged(p).to_vector<float>(), reference.floats(name));
  model->merge_adapters();
  const auto after = results_of(*model, ids).at("logits").values;
  expect_like_peft("logits_merged", after, reference.floats("logits_merged"));
  // W + scale · B·A is rounded, and so are the sums: by as much as PEFT's own merged model differs.
  const double theirs = difference(reference.floats("logits_merged"), reference.floats("logits"));
  EXPECT_LT(difference(after, before), std::max(1e-6, 2 * theirs));
  RecordProperty("merged_differs", fmt::format("{:.2g}, theirs {:.2g}", difference(after, before), theirs));
}

TEST_P(Peft, WrittenAgainItIsTheSame) {
  const auto to = testing::TempDir() + "bora_peft_" + GetParam();
  const auto model = adapted();
  save_peft(*model, to, base_of_peft(folder()));
  const SafetensorsFile theirs(folder() + "/adapter_model.safetensors"),
      ours(to + "/adapter_model.safetensors");
  ASSERT_EQ(ours.tensors().size(), theirs.tensors().size());
  for (const auto& t : theirs.tensors()) {
    EXPECT_EQ(ours.at(t.name).shape, t.shape) << t.name;
    EXPECT_EQ(ours.floats(t.name), theirs.floats(t.name)) << t.name;
  }
  const auto want = parse_json(read_text(folder() + "/adapter_config.json"), "theirs");
  const auto got = parse_json(read_text(to + "/adapter_config.json"), "ours");
  for (const auto& [key, value] : got.items()) {
    if (key == "target_modules" && want[key].is_string()) continue;  // a regular expression is told as names
    EXPECT_EQ(value, want[key]) << key;
  }
  const auto again = load_model(kModels + base_of_peft(folder()));
  load_peft(*again, to);
  EXPECT_EQ(record_of_adapters(*again), record_of_adapters(*model));
}

INSTANTIATE_TEST_SUITE_P(Adapters, Peft,
                         testing::Values("lora-llama-qv", "lora-llama-all-rslora", "lora-tied-pattern",
                                         "lora-qwen3-qv"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PeftRefused, ModulesToSaveByName) {
  const auto folder = kAdapters + "lora-qwen3-save";
  if (!exists(folder)) GTEST_SKIP() << "no reference adapter at " << folder;
  const auto model = load_model(BORA_SOURCE_DIR "/tests/parity/models/tiny-llama-tied");
  try {
    load_peft(*model, folder);
    FAIL() << "loaded half of an adapter";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Unsupported);
    EXPECT_THAT(e.what(),
                HasSubstr("adapter_config.json: modules_to_save is [\"lm_head\",\"norm\"], which is "
                          "not read"));
  }
}

// --- the tiny models of the repository -----------------------------------------------------------------

struct Map {
  std::string name;  // "model.layers.0.self_attn.q_proj"
  std::int64_t in, out, rank;
  double alpha;
  std::string a() const { return "base_model.model." + name + ".lora_A.weight"; }
  std::string b() const { return "base_model.model." + name + ".lora_B.weight"; }
};

struct Tiny {
  const char* model;
  std::vector<Map> maps;
  const char* config;
  double scale(const Map& map) const {
    const bool stabilized = std::string(config).find("\"use_rslora\": true") != std::string::npos;
    return map.alpha / (stabilized ? std::sqrt(map.rank) : static_cast<double>(map.rank));
  }
  bool transposed() const { return std::string(model) == "tiny-gpt2"; }
};
void PrintTo(const Tiny& tiny, std::ostream* out) { *out << tiny.model; }

const std::vector<Tiny> kTiny = {
    {"tiny-gpt2",
     {{"transformer.h.0.attn.c_attn", 12, 36, 2, 6}, {"transformer.h.1.attn.c_attn", 12, 36, 2, 6}},
     R"({"peft_type": "LORA", "r": 2, "lora_alpha": 6, "target_modules": ["c_attn"], "fan_in_fan_out": true})"},
    {"tiny-llama-gqa-rope3",
     {{"model.layers.0.self_attn.q_proj", 12, 24, 3, 4},
      {"model.layers.1.self_attn.q_proj", 12, 24, 3, 4},
      {"model.layers.0.mlp.down_proj", 8, 12, 1, 5},
      {"model.layers.1.mlp.down_proj", 8, 12, 1, 5}},
     R"({"peft_type": "LORA", "r": 3, "lora_alpha": 4, "target_modules": ["q_proj", "down_proj"],
         "rank_pattern": {"mlp.down_proj": 1}, "alpha_pattern": {".*.down_proj": 5}, "use_rslora": true})"},
    {"tiny-gemma2",
     {{"model.layers.1.self_attn.o_proj", 24, 12, 2, 2}},
     R"({"peft_type": "LORA", "r": 2, "lora_alpha": 2, "target_modules": ".*layers\\.1.*o_proj"})"},
};

class TinyAdapter : public testing::TestWithParam<Tiny> {
 protected:
  TinyAdapter() : folder_(testing::TempDir() + "bora_adapter_" + GetParam().model) {
    files().make_directories(folder_);
    write_atomically(folder_ + "/adapter_config.json", GetParam().config);
    std::vector<checkpoint::TensorSource> sources;
    for (const auto& map : GetParam().maps) {
      add(sources, map.a(), {map.rank, map.in});
      add(sources, map.b(), {map.out, map.rank});
    }
    checkpoint::write_safetensors(folder_ + "/adapter_model.safetensors", std::move(sources));
  }
  void add(std::vector<checkpoint::TensorSource>& sources, const std::string& name,
           const std::vector<std::int64_t>& shape) {
    auto& values = values_[name];
    const auto key = Key::from_seed(11).fold(name);
    for (std::int64_t i = 0; i < shape[0] * shape[1]; ++i)
      values.push_back(0.2F * (static_cast<float>(key.below(1000, static_cast<std::uint64_t>(i))) / 500 - 1));
    sources.push_back(checkpoint::tensor_of_floats(name, core::DType::f32, shape, values));
  }
  static std::string base() {
    return std::string(BORA_SOURCE_DIR "/tests/parity/models/") + GetParam().model;
  }

  // W + scale · B·A of a map, as it lies on disk.
  void merge_into(std::vector<float>& w, const Map& map) const {
    const auto &a = values_.at(map.a()), &b = values_.at(map.b());
    for (std::int64_t o = 0; o < map.out; ++o) {
      for (std::int64_t i = 0; i < map.in; ++i) {
        double sum = 0;
        for (std::int64_t r = 0; r < map.rank; ++r)
          sum += static_cast<double>(b[static_cast<std::size_t>(o * map.rank + r)]) *
                 a[static_cast<std::size_t>(r * map.in + i)];
        const auto at = GetParam().transposed() ? i * map.out + o : o * map.in + i;
        w[static_cast<std::size_t>(at)] += static_cast<float>(GetParam().scale(map) * sum);
      }
    }
  }
  // A copy of the base with merged weights.
  std::string merged_base() const {
    const auto to = folder_ + "_merged";
    files().make_directories(to);
    write_atomically(to + "/config.json", read_text(base() + "/config.json"));
    const SafetensorsFile file(base() + "/model.safetensors");
    std::vector<std::vector<float>> kept;
    kept.reserve(file.tensors().size());
    std::vector<checkpoint::TensorSource> sources;
    for (const auto& t : file.tensors()) {
      kept.push_back(file.floats(t.name));
      for (const auto& map : GetParam().maps)
        if (t.name == map.name + ".weight") merge_into(kept.back(), map);
      sources.push_back(checkpoint::tensor_of_floats(t.name, core::DType::f32, t.shape, kept.back()));
    }
    checkpoint::write_safetensors(to + "/model.safetensors", std::move(sources));
    return to;
  }

  std::string folder_;
  std::map<std::string, std::vector<float>> values_;
};

// dA = scale · Bᵀ·dW and dB = scale · dW·Aᵀ, with the gradient dW of the merged weight.
TEST_P(TinyAdapter, ComputesWhatTheMergedModelDoes) {
  const auto ids = ids_of(SafetensorsFile(base() + "/reference.safetensors"));
  const auto model = load_model(base()), merged = load_model(merged_base());
  load_peft(*model, folder_);
  const auto ours = results_of(*model, ids), want = results_of(*merged, ids);
  for (const std::string name : {"logits", "loss"})
    expect_like_peft(name, ours.at(name).values, want.at(name).values);
  for (const auto& map : GetParam().maps) {
    const auto& dw = want.at("grad." + map.name + ".weight").values;
    const auto &a = values_.at(map.a()), &b = values_.at(map.b());
    std::vector<double> da(a.size()), db(b.size());
    for (std::int64_t o = 0; o < map.out; ++o) {
      for (std::int64_t i = 0; i < map.in; ++i) {
        const auto d =
            GetParam().scale(map) *
            dw[static_cast<std::size_t>(GetParam().transposed() ? i * map.out + o : o * map.in + i)];
        for (std::int64_t r = 0; r < map.rank; ++r) {
          const auto at_a = static_cast<std::size_t>(r * map.in + i);
          const auto at_b = static_cast<std::size_t>(o * map.rank + r);
          da[at_a] += b[at_b] * d;
          db[at_b] += a[at_a] * d;
        }
      }
    }
    expect_like_peft("grad.a", ours.at("grad." + map.a()).values, {da.begin(), da.end()});
    expect_like_peft("grad.b", ours.at("grad." + map.b()).values, {db.begin(), db.end()});
  }
}

TEST_P(TinyAdapter, ExportsMergedAndAlone) {
  const auto ids = ids_of(SafetensorsFile(base() + "/reference.safetensors"));
  const auto model = load_model(base());
  load_peft(*model, folder_);
  const auto ours = results_of(*model, ids);
  const auto merged = testing::TempDir() + "bora_adapter_export";
  export_hugging_face(*model, std::nullopt, Json::object(), merged, core::DType::f32);
  EXPECT_LT(difference(results_of(*load_model(merged), ids).at("logits").values, ours.at("logits").values),
            1e-6);
  EXPECT_TRUE(model->linear_maps().size() > 1 && record_of_adapters(*model).size() == GetParam().maps.size());

  const auto alone = testing::TempDir() + "bora_adapter_alone";
  save_peft(*model, alone, base());
  const auto config = parse_json(read_text(alone + "/adapter_config.json"), "adapter_config.json");
  EXPECT_EQ(config["fan_in_fan_out"], GetParam().transposed());
  EXPECT_EQ(config["base_model_name_or_path"], base());
  const auto again = load_model(base());
  load_peft(*again, alone);
  EXPECT_EQ(results_of(*again, ids).at("logits").values, ours.at("logits").values);
}

INSTANTIATE_TEST_SUITE_P(Models, TinyAdapter, testing::ValuesIn(kTiny), [](const auto& of) {
  std::string name = of.param.model;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace bora::run
