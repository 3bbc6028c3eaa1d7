// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/bench_models.h"

#include <sys/resource.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/range.h"
#include "bora/models/add_model.h"
#include "bora/models/gpt2_config.h"
#include "bora/models/llama_config.h"
#include "bora/models/qwen2.h"

namespace bora::cli {
namespace {

std::unique_ptr<nn::LanguageModel> gpt2(const std::string& name, gpt2::Config config, std::int64_t seq) {
  if (seq > config.seq_len)
    fail(ErrorKind::Usage,
         "bench: --seq {} is more than the {} positions of {}\nhint: a smaller --seq, or another --model",
         seq, config.seq_len, name);
  return models::make_model(models::ModelConfigOf<gpt2::Config>("gpt2", config), 50257, Key::from_seed(0));
}

struct Sizes {
  std::int64_t hidden, layers, heads, kv_heads, mlp, vocab;
  bool tied = false;
};

template <class Config>
std::unique_ptr<nn::LanguageModel> decoder(const std::string& type, const Sizes& s, std::int64_t seq) {
  Config c;
  c.seq_len = seq;
  c.hidden_dim = s.hidden;
  c.intermediate_dim = s.mlp;
  c.num_layers = s.layers;
  c.num_heads = s.heads;
  c.num_kv_heads = s.kv_heads;
  c.head_dim = s.hidden / s.heads;
  c.tie_word_embeddings = s.tied;
  return models::make_model(models::ModelConfigOf<Config>(type, c), s.vocab, Key::from_seed(0));
}

using Make = std::function<std::unique_ptr<nn::LanguageModel>(const std::string& name, std::int64_t seq)>;

Make llama_of(const Sizes& sizes) {
  return
      [sizes](const std::string&, std::int64_t seq) { return decoder<llama::Config>("llama", sizes, seq); };
}

Make gpt2_of(const gpt2::Config& config) {
  return [config](const std::string& name, std::int64_t seq) { return gpt2(name, config, seq); };
}

const std::vector<std::pair<std::string, Make>>& all_models() {
  static const std::vector<std::pair<std::string, Make>> all = {
      {"gpt2-124m", gpt2_of({})},
      {"gpt2-1.5b", gpt2_of({.hidden_dim = 1600, .num_layers = 48, .num_heads = 25})},
      {"llama-nano", llama_of({128, 4, 4, 2, 512, 32000})},
      {"llama-mid", llama_of({512, 8, 8, 4, 1408, 32000})},
      {"llama-125m", llama_of({768, 12, 12, 4, 2048, 32000})},
      {"quickstart", llama_of({128, 4, 4, 2, 384, 4096, true})},
      {"qwen2.5-1.5b",
       [](const std::string&, std::int64_t seq) {
         return decoder<qwen2::Config>("qwen2", {1536, 28, 12, 2, 8960, 151936, true}, seq);
       }},
      {"llama-8b-8", llama_of({4096, 8, 32, 8, 14336, 128256})},
  };
  return all;
}

}  // namespace

const std::vector<std::string>& bench_model_names() {
  static const auto names = [] {
    std::vector<std::string> out;
    for (const auto& [name, make] : all_models()) out.push_back(name);
    return out;
  }();
  return names;
}

std::unique_ptr<nn::LanguageModel> bench_model(const std::string& name, std::int64_t seq) {
  const auto& all = all_models();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& model) { return model.first == name; });
  if (found == all.end()) fail(ErrorKind::InvalidArgument, "bench: no model {}", name);
  return found->second(name, seq);
}

void require_tokens(std::int64_t sequences, std::int64_t seq_len) {
  if (kSize.allows(static_cast<double>(sequences) * static_cast<double>(seq_len))) return;
  fail(
      ErrorKind::Usage,
      "bench: --batch {} times --seq {} are too many tokens for a step; it must be {}\nhint: fewer of either",
      sequences, seq_len, kSize.words());
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

double largest_memory_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace bora::cli
