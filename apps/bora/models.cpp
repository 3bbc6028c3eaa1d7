// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "models.h"

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/models/gpt2.h"
#include "bora/models/llama.h"

namespace bora::app {
namespace {

template <class Config, class Model, class VocabAxis>
class ConfigOf final : public ModelConfig {
 public:
  explicit ConfigOf(std::string type, Config config = {})
      : type_(std::move(type)), config_(std::move(config)) {}
  std::string type() const override { return type_; }
  void bind(Binder& b) override { config_.bind(b); }
  std::int64_t seq_len() const override { return config_.seq_len; }
  nn::ModelShape shape(std::int64_t vocab_size) const override { return config_.shape(vocab_size); }
  std::int64_t parameter_count(std::int64_t vocab_size) const override {
    return config_.parameter_count(vocab_size);
  }
  std::unique_ptr<nn::LanguageModel> make(std::int64_t vocab_size, Key key) const override {
    return nn::erase_type(Model::init(config_, Dim<VocabAxis>{vocab_size}, key));
  }

 private:
  std::string type_;
  Config config_;
};

struct Entry {
  std::string type;
  std::unique_ptr<ModelConfig> (*fresh)();
  std::unique_ptr<ModelConfig> (*from_hf)(const Json&, std::string_view);
};

template <class Config, class Model, class VocabAxis>
Entry entry(const char* type) {
  static const std::string kType = type;
  using Of = ConfigOf<Config, Model, VocabAxis>;
  return {type, [] { return std::unique_ptr<ModelConfig>(new Of(kType)); },
          [](const Json& c, std::string_view name) {
            return std::unique_ptr<ModelConfig>(new Of(kType, Config::from_hf(c, name)));
          }};
}

const std::vector<Entry>& registry() {
  static const std::vector<Entry> kEntries = {
      entry<gpt2::Config, gpt2::Gpt2, gpt2::Vocab>("gpt2"),
      entry<llama::Config, llama::Llama, llama::Vocab>("llama"),
  };
  return kEntries;
}

}  // namespace

std::vector<std::string> model_types() {
  std::vector<std::string> out;
  for (const auto& e : registry()) out.push_back(e.type);
  return out;
}

std::unique_ptr<ModelConfig> make_model_config(std::string_view type) {
  for (const auto& e : registry())
    if (e.type == type) return e.fresh();
  return nullptr;
}

std::unique_ptr<ModelConfig> model_config_from_hf(const Json& config, std::string_view name) {
  auto type = json_get<std::string>(config, "model_type", name);
  for (const auto& e : registry())
    if (e.type == type) return e.from_hf(config, name);
  auto types = model_types();
  fail(ErrorKind::Unsupported, "{}: model_type {} is not one of {}", name, type, join(types));
}

std::vector<checkpoint::HfParameter> hf_parameters(nn::LanguageModel& model) {
  std::vector<checkpoint::HfParameter> out;
  for (auto& p : model.parameters()) {
    auto hf = model.hf_name(p.path);
    out.push_back({p, hf.name, hf.transposed});
  }
  return out;
}

std::unique_ptr<nn::LanguageModel> load_model(const std::string& directory) {
  auto path = path_join(directory, "config.json");
  auto json = checkpoint::read_hf_config(directory);
  auto config = model_config_from_hf(json, path);
  auto model = config->make(json_get<std::int64_t>(json, "vocab_size", path), Key{});
  checkpoint::load_hugging_face(directory, hf_parameters(*model));
  return model;
}

void export_hugging_face(nn::LanguageModel& model, const std::optional<Tokenizer>& tokenizer,
                         const std::string& directory, core::DType dtype) {
  std::vector<std::pair<std::string, std::string>> extra;
  auto config = model.hf_config();
  if (tokenizer) {
    auto folder = directory + ".tokenizer";
    tokenizer->save(folder);
    for (const auto& name : files().list(folder))
      extra.emplace_back(name, read_text(path_join(folder, name)));
    remove_all(folder);
    if (auto id = tokenizer->bos_id()) config["bos_token_id"] = *id;
    if (auto id = tokenizer->eos_id()) config["eos_token_id"] = *id;
  }
  checkpoint::save_hugging_face(directory, hf_parameters(model), config, extra, {.dtype = dtype});
}

}  // namespace bora::app
