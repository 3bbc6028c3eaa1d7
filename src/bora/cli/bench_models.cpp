// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/bench_models.h"

#include <sys/resource.h>

#include <algorithm>

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

std::unique_ptr<nn::LanguageModel> llama(const Sizes& sizes, std::int64_t seq) {
  return decoder<llama::Config>("llama", sizes, seq);
}

}  // namespace

std::unique_ptr<nn::LanguageModel> bench_model(const std::string& name, std::int64_t seq) {
  if (name == "gpt2-124m") return gpt2(name, {}, seq);
  if (name == "gpt2-1.5b") return gpt2(name, {.hidden_dim = 1600, .num_layers = 48, .num_heads = 25}, seq);
  if (name == "llama-nano") return llama({128, 4, 4, 2, 512, 32000}, seq);
  if (name == "llama-mid") return llama({512, 8, 8, 4, 1408, 32000}, seq);
  if (name == "llama-125m") return llama({768, 12, 12, 4, 2048, 32000}, seq);
  if (name == "quickstart") return llama({128, 4, 4, 2, 384, 4096, true}, seq);
  if (name == "qwen2.5-1.5b")
    return decoder<qwen2::Config>("qwen2", {1536, 28, 12, 2, 8960, 151936, true}, seq);
  if (name == "llama-8b-8") return llama({4096, 8, 32, 8, 14336, 128256}, seq);
  fail(ErrorKind::Usage, "bench: model {} is not one of {}\nhint: bora bench --help", name, kBenchModels);
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
