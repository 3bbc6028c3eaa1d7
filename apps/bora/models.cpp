// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "models.h"

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/models/gpt2_config.h"
#include "bora/models/llama_config.h"

namespace bora::app {
namespace {

template <class Config>
std::unique_ptr<nn::LanguageModel> make_if(const ModelConfig& config, std::int64_t vocab_size, Key key) {
  const auto* of = dynamic_cast<const ModelConfigOf<Config>*>(&config);
  return of == nullptr ? nullptr : make_model(of->config, vocab_size, key);
}

}  // namespace

std::unique_ptr<nn::LanguageModel> make_model(const ModelConfig& config, std::int64_t vocab_size, Key key) {
  config.parameter_count(vocab_size);  // fails where their number is none
  if (auto m = make_if<gpt2::Config>(config, vocab_size, key)) return m;
  if (auto m = make_if<llama::Config>(config, vocab_size, key)) return m;
  fail(ErrorKind::Unsupported, "models of type {} cannot be made", config.type());
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
  auto model = make_model(*config, vocab_size_from_hf(json, path), Key{});
  checkpoint::load_hugging_face(directory, hf_parameters(*model));
  return model;
}

void export_hugging_face(nn::LanguageModel& model, const std::optional<Tokenizer>& tokenizer,
                         const Json& generation, const std::string& directory,
                         const checkpoint::HfSaveOptions& options) {
  auto config = model.hf_config();
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    config[key] = generation.contains(key) ? generation[key] : Json();
  auto complete = options;
  complete.add_files = [&](const std::string& to) {
    if (tokenizer) tokenizer->save(to);
    if (!generation.empty())
      write_atomically(path_join(to, "generation_config.json"), generation.dump(2) + "\n");
  };
  checkpoint::save_hugging_face(directory, hf_parameters(model), config, complete);
}

}  // namespace bora::app
