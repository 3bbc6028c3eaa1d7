// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Trains bigram.h on text of a known order: letter i is followed by letter 5·i + 1 (mod 16), but every fourth
// time by a random one. The best possible loss is that noise; the program fails if the model stays far from
// it.
#include <cmath>
#include <cstdio>

#include "bigram.h"
#include "bora/base/error.h"
#include "bora/nn/language_model.h"
#include "bora/optim/adam.h"
#include "bora/train/trainer.h"

namespace {

constexpr std::int64_t kVocab = 16, kSequences = 8, kLength = 64, kSteps = 150;
constexpr double kNoise = 0.25;

// A pure function of the step: that is what makes a run repeatable and resumable.
bora::data::Batch batch_of(std::int64_t step) {
  auto key = bora::Key::from_seed(1).fold(static_cast<std::uint64_t>(step));
  bora::data::Batch batch{.step = step, .sequences = kSequences, .seq_len = kLength};
  std::uint64_t token = 0;
  for (std::uint64_t i = 0; i < kSequences * kLength; ++i) {
    bool noisy = key.fold("noise").uniform(i) < kNoise;
    token = noisy ? key.fold("token").below(kVocab, i) : (5 * token + 1) % kVocab;
    batch.tokens.push_back(static_cast<std::int32_t>(token));
    batch.loss_weights.push_back((i + 1) % kLength == 0 ? 0 : 1);  // the last of a sequence predicts nothing
  }
  bora::data::set_next_token_targets(batch);
  return batch;
}

double best_loss() {
  double right = 1 - kNoise + kNoise / kVocab, wrong = kNoise / kVocab;
  return -right * std::log(right) - (kVocab - 1) * wrong * std::log(wrong);
}

double train() {
  using namespace bora;
  using namespace bigram;
  auto model = nn::erase_type(
      Bigram::init({.hidden_dim = 32, .intermediate_dim = 64}, Dim<Vocab>{kVocab}, Key::from_seed(0)));

  optim::AdamConfig config;
  config.learning_rate = 1e-2;
  optim::Adam optimizer(config, model->parameters());

  double last = 0;
  train::Trainer trainer({.model = *model,
                          .optimizer = optimizer,
                          .schedule = optim::Schedule(config, kSteps),
                          .batch_of = batch_of,
                          .hooks = {[&](const train::StepResult& r) {
                            last = r.loss;
                            if (r.step % 25 == 0)
                              std::printf("step %3lld  loss %.4f\n", static_cast<long long>(r.step), r.loss);
                          }}},
                         {.total_steps = kSteps, .lanes = 4});
  trainer.run();
  return last;
}

}  // namespace

int main() {
  try {
    double loss = train(), best = best_loss();
    std::printf("last loss %.4f, best possible %.4f\n", loss, best);
    return loss < best + 0.2 ? 0 : 1;
  } catch (const bora::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return bora::exit_code(e.kind());
  }
}
