// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Adapters as files of PEFT (Hugging Face's library of adapters): adapter_config.json and
// adapter_model.safetensors in a directory.
#pragma once
#include <string>
#include <vector>

#include "bora/checkpoint/hugging_face.h"
#include "bora/nn/language_model_interface.h"
#include "bora/run/adapters.h"

namespace bora::run {

/// The parameters of a model's adapters with the names that PEFT gives them:
/// "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight".
std::vector<checkpoint::HfParameter> adapter_parameters(nn::LanguageModel& model);

/// Why the adapters of a model cannot be files of PEFT: linear maps that are parts of one in the Hugging Face
/// layout, which would have one adapter there; MLPs of a Qwen 3 with experts, whose adapters PEFT drops. "" where they
/// can.
std::string problem_for_peft(nn::LanguageModel& model);

/// Whether a directory holds adapter_config.json.
bool is_peft(const std::string& directory);
/// The model that the adapter was made for, as its file says; "" where it says nothing.
std::string base_of_peft(const std::string& directory);

/// Puts an adapter on a model that has none. Errors name the file and what is wrong with it, all at once:
/// Unsupported for what is no plain low-rank adapter of linear maps (another peft_type, DoRA, biases,
/// modules_to_save, an initialisation that changes the model's own weights) and for maps that are one;
/// Corruption for tensors that are missing, left over or of another shape.
void load_peft(nn::LanguageModel& model, const std::string& directory);

/// Writes the adapters of a model, whole or not at all; what stands there is replaced in one step. `base`:
/// the model that they are for. `whole` gives the whole values of a parameter; null: they are in memory.
/// Unsupported: no adapters, problem_for_peft.
void save_peft(nn::LanguageModel& model, const std::string& directory, const std::string& base,
               core::DType dtype = core::DType::f32, const WholeValues& whole = nullptr);

}  // namespace bora::run
