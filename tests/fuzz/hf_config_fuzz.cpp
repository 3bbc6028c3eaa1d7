// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// config.json of a model of any family: its sizes, and how many parameters they make.
#include "bora/checkpoint/hf_config.h"
#include "bora/models/backpack_config.h"
#include "bora/models/gemma.h"
#include "bora/models/gemma2.h"
#include "bora/models/gemma3.h"
#include "bora/models/gpt2_config.h"
#include "bora/models/gpt_neox.h"
#include "bora/models/gpt_oss.h"
#include "bora/models/gptj.h"
#include "bora/models/granite.h"
#include "bora/models/llama_config.h"
#include "bora/models/mistral.h"
#include "bora/models/mixtral.h"
#include "bora/models/model_types.h"
#include "bora/models/mpt.h"
#include "bora/models/olmo2.h"
#include "bora/models/olmo3.h"
#include "bora/models/olmoe.h"
#include "bora/models/phi3.h"
#include "bora/models/qwen2.h"
#include "bora/models/qwen2_moe.h"
#include "bora/models/qwen3.h"
#include "bora/models/qwen3_moe.h"
#include "bora/models/smollm3.h"
#include "bora/models/whisper_config.h"
#include "fuzz.h"
#include "memory_files.h"

namespace {

// The configurations alone: models need the tensor library.
bool add_all() {
  using namespace bora;
  models::add_type<backpack::Config>("backpack");
  models::add_type<gemma::Config>("gemma");
  models::add_type<gemma2::Config>("gemma2");
  models::add_type<gemma3::Config>("gemma3");
  models::add_type<gpt2::Config>("gpt2");
  models::add_type<gpt_neox::Config>("gpt_neox");
  models::add_type<gpt_oss::Config>("gpt_oss");
  models::add_type<gptj::Config>("gptj");
  models::add_type<granite::Config>("granite");
  models::add_type<llama::Config>("llama");
  models::add_type<mistral::Config>("mistral");
  models::add_type<mixtral::Config>("mixtral");
  models::add_type<mpt::Config>("mpt");
  models::add_type<olmo2::Config>("olmo2");
  models::add_type<olmo3::Config>("olmo3");
  models::add_type<olmoe::Config>("olmoe");
  models::add_type<phi3::Config>("phi3");
  models::add_type<qwen2::Config>("qwen2");
  models::add_type<qwen2_moe::Config>("qwen2_moe");
  models::add_type<qwen3::Config>("qwen3");
  models::add_type<qwen3_moe::Config>("qwen3_moe");
  models::add_type<smollm3::Config>("smollm3");
  models::add_type<whisper::Config>("whisper");
  return true;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  static const bool added = add_all();
  const fuzz::MemoryFiles files({{"m/config.json", std::string(fuzz::text_of(data, size))}});
  return fuzz::refuse_or_accept([&] {
    const auto json = checkpoint::read_hf_config("m");
    const auto config = models::model_config_from_hf(json, "m/config.json");
    if (config->seq_len() < 1 || !added) __builtin_trap();
    const auto vocab = models::vocab_size_from_hf(json, "m/config.json");
    if (config->parameter_count(vocab) < 1 || config->shape(vocab).layers < 1) __builtin_trap();
  });
}
