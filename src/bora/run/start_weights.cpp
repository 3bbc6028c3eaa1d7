// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/start_weights.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/models/model_types.h"
#include "bora/run/adapters.h"
#include "bora/run/shape_model.h"

namespace bora::run {
namespace {

Json state_of(const std::string& checkpoint) {
  const auto path = path_join(checkpoint, "state.json");
  return parse_json(read_text(path), path);
}

std::string without_hint(const std::string& text) { return text.substr(0, text.find("\nhint: ")); }

std::int64_t vocab_of(const std::string& checkpoint) {
  const auto state = state_of(checkpoint);
  return models::vocab_size_from_hf(state.value("model", Json::object()),
                                    path_join(checkpoint, "state.json"));
}

std::string misfit_of_shapes(const LmConfig& config, std::optional<std::int64_t> vocab,
                             const std::string& from, const std::function<void(nn::LanguageModel&)>& fit) {
  std::string out;
  with_shape_model(config, vocab ? *vocab : vocab_of(from), [&](nn::LanguageModel& model) {
    try {
      fit(model);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::InvalidArgument) throw;
      out = without_hint(e.what());
    }
  });
  return out;
}

}  // namespace

std::vector<checkpoint::CheckpointArray> arrays_to_start_with(
    nn::LanguageModel& model, const std::string& from, std::vector<checkpoint::CheckpointArray> parameters) {
  const auto state = state_of(from);
  const auto there = state.contains("lora") ? state["lora"] : Json(), here = record_of_adapters(model);
  if (there.is_null()) {
    const auto all = model.parameters();
    std::erase_if(parameters, [&](const checkpoint::CheckpointArray& a) {
      return a.parameter && all[*a.parameter].role == core::Role::adapter;
    });
  } else if (!same_adapters(here, there)) {
    fail(ErrorKind::Config,
         "lora: {} has adapters {}, and this run {}\nhint: bora export {} DIRECTORY merges them; start from "
         "that with initialize_from_hf",
         from, describe_adapters(there), describe_adapters(here), from);
  }
  return parameters;
}

std::string misfit(const LmConfig& config, std::optional<std::int64_t> vocab, const std::string& from,
                   bool begins) {
  return misfit_of_shapes(config, vocab, from, [&](nn::LanguageModel& model) {
    auto arrays = checkpoint::checkpoint_arrays(model.parameters());
    if (begins) arrays = arrays_to_start_with(model, from, std::move(arrays));
    checkpoint::require_fit(from, arrays);
  });
}

std::string misfit_of_state(const LmConfig& config, std::optional<std::int64_t> vocab,
                            const std::string& from) {
  return misfit_of_shapes(config, vocab, from, [&](nn::LanguageModel& model) {
    checkpoint::require_fit_of_state(from,
                                     checkpoint::checkpoint_arrays(shape_optimizer(config, model)->state()));
  });
}

NewestCheckpoint newest_whole_checkpoint(const std::string& run_directory) {
  NewestCheckpoint out;
  auto candidates = checkpoint::named_checkpoints(run_directory);
  for (; !candidates.empty(); candidates.pop_back()) try {
      out.whole = checkpoint::verify_for_restore(candidates.back());
      return out;
    } catch (const Error& e) {
      out.damaged.push_back(without_hint(e.what()));
    }
  return out;
}

}  // namespace bora::run
