// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/models.h"

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/checkpoint/hf_config.h"
#include "bora/core/parameter_store.h"
#include "bora/models/add_model.h"
#include "bora/run/no_export.h"
#include "bora/run/speech_model.h"

namespace bora::run {
namespace {

constexpr const char* kStart = "decoder_start_token_id";

// Keeps every parameter where it is, and says that values need not be drawn.
class Room final : public core::ParameterStore {
 public:
  bool shapes_only() const override { return true; }
  void created(core::Array&, core::Names) override {}
  void hold(std::span<const core::Array>) override {}
  void need(std::span<const core::Array>) override {}
};

}  // namespace

std::unique_ptr<nn::LanguageModel> model_to_fill(const models::ModelConfig& config, std::int64_t vocab) {
  Room room;
  const core::ParameterStoreScope scope(room);
  return models::make_model(config, vocab, Key{});
}

std::vector<checkpoint::HfParameter> hf_parameters(nn::LanguageModel& model) {
  std::vector<checkpoint::HfParameter> out;
  for (auto& p : model.parameters()) {
    if (p.role == core::Role::adapter) continue;
    const auto hf = model.hf_name(p.path);
    for (auto& piece : checkpoint::hf_pieces(p, hf.name, hf.transposed)) out.push_back(std::move(piece));
  }
  return out;
}

std::unique_ptr<nn::LanguageModel> load_model(const std::string& directory) {
  auto path = path_join(directory, "config.json");
  auto json = checkpoint::read_hf_config(directory);
  auto config = models::model_config_from_hf(json, path);
  auto model = model_to_fill(*config, models::vocab_size_from_hf(json, path));
  checkpoint::load_hugging_face(directory, hf_parameters(*model));
  return model;
}

void export_hugging_face(nn::LanguageModel& model, const std::optional<Tokenizer>& tokenizer,
                         const Json& given, const std::string& directory, core::DType dtype,
                         const WholeValues& whole) {
  auto config = model.hf_config();
  if (const auto why = why_no_export(config); !why.empty())
    fail(ErrorKind::Unsupported, "export: {}\nhint: bora generate and eval read the checkpoint itself", why);
  auto generation = given;
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    config[key] = generation.contains(key) ? generation[key] : Json();
  if (const auto shape = model.shape(); shape.hears() && !generation.empty())
    config[kStart] = generation[kStart] = speech_tokens(generation, tokenizer, shape.vocab, directory).start;
  checkpoint::HfSaveOptions options{.dtype = dtype, .values = merged_values(model, whole)};
  options.add_files = [&](const std::string& to) {
    if (tokenizer) tokenizer->save(to);
    if (!generation.empty())
      write_atomically(path_join(to, "generation_config.json"), generation.dump(2) + "\n");
    if (const auto shape = model.shape(); shape.hears())
      write_atomically(path_join(to, "preprocessor_config.json"), preprocessor_config(shape).dump(2) + "\n");
  };
  checkpoint::save_hugging_face(directory, hf_parameters(model), config, options);
}

}  // namespace bora::run
