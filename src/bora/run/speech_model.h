// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Models of speech in the Hugging Face layout.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "bora/checkpoint/hugging_face.h"
#include "bora/nn/speech_model.h"

namespace bora::run {

/// The model of a Hugging Face directory, weights loaded. Errors: Unsupported for a model that is none of
/// speech; those of load_hugging_face.
std::unique_ptr<nn::SpeechModel> load_speech_model(const std::string& directory);
/// Its parameters with their Hugging Face names.
std::vector<checkpoint::HfParameter> hf_parameters(nn::SpeechModel& model);
/// Writes config.json and the tensors, whole or not at all.
void export_speech_model(nn::SpeechModel& model, const std::string& directory, core::DType dtype);

}  // namespace bora::run
