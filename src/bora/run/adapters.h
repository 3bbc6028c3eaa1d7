// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Which parameters of a model a run trains: `lora` and `trainer.freeze`.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bora/base/json.h"
#include "bora/checkpoint/hugging_face.h"
#include "bora/nn/language_model_interface.h"
#include "bora/run/lm_config.h"

namespace bora::run {

/// The adapters that `lora` asks for. Config errors, all at once: names that no linear map has, with the
/// nearest one; the head; nothing left; a model of speech, which takes none.
std::vector<nn::NewAdapter> chosen_adapters(const LoraConfig& lora, nn::LanguageModel& model);

/// Does to a new model what a run does before it trains: adapters, then what is frozen. Config errors as
/// above, and for patterns that select nothing, or leave nothing to train.
void choose_trained(nn::LanguageModel& model, const LmConfig& config);

/// Elements of parameters, of all and of those that are trained.
struct ParameterCounts {
  std::int64_t all = 0, trained = 0;
  bool operator==(const ParameterCounts&) const = default;
};
ParameterCounts count_parameters(const std::vector<core::Parameter>& parameters);

/// What a checkpoint says of the adapters of its model, {"layers.0.attn.q_proj": {"r": 8, ...}, ...}; null
/// without adapters.
Json record_of_adapters(nn::LanguageModel& model);
/// "of 14 linear maps, rank 8, alpha 16, dropout 0.1"; "none".
std::string describe_adapters(const Json& record);
/// Whether adapters of both records compute the same; dropout, which is a matter of training, aside.
bool same_adapters(const Json& a, const Json& b);
/// Attaches them; their values are still to come. Corruption, with `where`, for a record that cannot be.
void attach_recorded(nn::LanguageModel& model, const Json& record, const std::string& where);

/// Values of the parameters that are no adapters, as they are with the adapters merged into them: W + scale ·
/// B·A. `whole` gives the whole values of a parameter; null: they are in memory.
using WholeValues = std::function<core::Array(const core::Parameter&)>;
std::function<core::Array(const checkpoint::HfParameter&)> merged_values(nn::LanguageModel& model,
                                                                         WholeValues whole = nullptr);

}  // namespace bora::run
