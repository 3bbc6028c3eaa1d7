// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/start_weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

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

// Of a checkpoint, or of a run's newest one; null for what is neither.
Json state_in(const std::string& directory) try {
  return state_of(checkpoint::find_checkpoint(directory));
} catch (const Error&) {
  return {};
}

std::string recorded_base(const Json& state) {
  const auto base = state.find("lora_base");
  return base != state.end() && base->is_string() ? base->get<std::string>() : "";
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

// What config.json says beside what a model computes.
bool is_beside(std::string_view key) {
  constexpr std::array<std::string_view, 15> kBeside = {"architectures",
                                                        "model_type",
                                                        "rope_parameters",
                                                        "transformers_version",
                                                        "dtype",
                                                        "torch_dtype",
                                                        "vocab_size",
                                                        "use_cache",
                                                        "initializer_range",
                                                        "init_std",
                                                        "router_aux_loss_coef",
                                                        "output_router_logits",
                                                        "verbose",
                                                        "max_position_embeddings",
                                                        "n_positions"};
  const auto has = [&](std::string_view word) { return key.find(word) != key.npos; };
  return std::find(kBeside.begin(), kBeside.end(), key) != kBeside.end() || key == "max_seq_len" ||
         has("dropout") || has("pdrop") || has("layerdrop") || has("_token") || has("_tokens");
}

// {"rope_scaling": {"factor": 8}} as "rope_scaling.factor".
void add_values(const Json& of, const std::string& prefix, std::map<std::string, std::string>& out) {
  for (const auto& [key, value] : of.items()) {
    if (is_beside(key)) continue;
    if (value.is_object())
      add_values(value, prefix + key + ".", out);
    else
      out[prefix + key] = value.is_number() ? fmt::format("{}", value.get<double>()) : value.dump();
  }
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 60;
  return text.size() <= kMost ? text : text.substr(0, kMost) + " ...";
}

}  // namespace

Json model_of_checkpoint(const std::string& checkpoint) {
  return state_of(checkpoint).value("model", Json());
}

std::vector<std::string> other_function(const Json& here, const Json& there) {
  std::map<std::string, std::string> ours, theirs;
  add_values(here, "", ours);
  add_values(there, "", theirs);
  for (const auto& [key, value] : ours) theirs.try_emplace(key, "not given");
  std::vector<std::string> out;
  for (const auto& [key, value] : theirs) {
    const auto known = ours.find(key);
    const auto mine = known == ours.end() ? "not given" : known->second;
    if (mine != value)
      out.push_back(fmt::format("{} is {} here and {} there", key, shortened(mine), shortened(value)));
  }
  return out;
}

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

std::string base_of_adapters(std::string from) {
  for (std::set<std::string> seen; !from.empty() && seen.insert(from).second;) {
    const auto state = state_in(from);
    if (!state.contains("lora")) break;
    from = recorded_base(state);
  }
  return from;
}

std::string base_of_adapters(const LmConfig& config, const std::string& run_directory) {
  const auto from = model_to_start_from(config);
  const auto recorded = exists(from) ? "" : recorded_base(state_in(run_directory));
  return base_of_adapters(recorded.empty() ? from : recorded);
}

std::string misfit(const LmConfig& config, std::optional<std::int64_t> vocab, const std::string& from,
                   bool begins) {
  return misfit_of_shapes(config, vocab, from, [&](nn::LanguageModel& model) {
    auto arrays = checkpoint::checkpoint_arrays(model.parameters());
    if (begins) arrays = arrays_to_start_with(model, from, std::move(arrays));
    checkpoint::require_fit(from, arrays);
  });
}

std::string other_adapters(const LmConfig& config, std::optional<std::int64_t> vocab,
                           const std::string& from) {
  const auto there = state_of(from).value("lora", Json());
  std::string out;
  with_shape_model(config, vocab ? *vocab : vocab_of(from), [&](nn::LanguageModel& model) {
    const auto here = record_of_adapters(model);
    if (!same_adapters(here, there))
      out = fmt::format("{} here, {} in {}", describe_adapters(here), describe_adapters(there), from);
  });
  return out;
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
