// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/speech_model.h"

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/checkpoint/hf_config.h"
#include "bora/models/whisper.h"

namespace bora::run {

std::vector<checkpoint::HfParameter> hf_parameters(nn::SpeechModel& model) {
  std::vector<checkpoint::HfParameter> out;
  for (auto& p : model.parameters()) {
    const auto hf = model.hf_name(p.path);
    out.push_back({p, hf.name, hf.transposed});
  }
  return out;
}

std::unique_ptr<nn::SpeechModel> load_speech_model(const std::string& directory) {
  const auto path = path_join(directory, "config.json");
  const auto json = checkpoint::read_hf_config(directory);
  const auto type = json_get<std::string>(json, "model_type", path);
  if (type != "whisper") {
    fail(ErrorKind::Unsupported,
         "{}: model_type {} is no model of speech; Bora has whisper\nhint: bora generate for models of text",
         path, type);
  }
  auto model = whisper::erase_type(whisper::Whisper::init(whisper::Config::from_hf(json, path), Key{}));
  checkpoint::load_hugging_face(directory, hf_parameters(*model));
  return model;
}

void export_speech_model(nn::SpeechModel& model, const std::string& directory, core::DType dtype) {
  checkpoint::save_hugging_face(directory, hf_parameters(model), model.hf_config(), {.dtype = dtype});
}

}  // namespace bora::run
