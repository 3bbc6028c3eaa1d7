// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/senses.h"

#include <algorithm>
#include <array>
#include <span>

#include "bora/base/error.h"
#include "bora/models/backpack.h"
#include "bora/nn/language_model.h"

namespace bora::run {

std::vector<std::vector<SensePrediction>> predictions_of_senses(nn::LanguageModel& model, std::int32_t id,
                                                                std::int64_t top) {
  using backpack::Backpack, backpack::Batch, backpack::Embed, backpack::Pos;
  auto* own = dynamic_cast<nn::LanguageModelOf<Backpack>*>(&model);
  if (own == nullptr)
    fail(ErrorKind::Unsupported,
         "senses: a model of type {} has no sense vectors\nhint: one of model.type: backpack has",
         model.shape().type);
  const auto& m = own->model();
  const auto vocab = m.wte.weight.template size<backpack::Vocab>();
  if (id < 0 || id >= vocab)
    fail(ErrorKind::InvalidArgument, "senses: token {}, but the model has ids from 0 to {}", id, vocab - 1);
  constexpr std::array<std::int64_t, 2> kOne{1, 1};
  const auto ids = indices_from_array<Batch, Pos>(
      core::from_data({Axes<Batch, Pos>::names, kOne}, std::span<const std::int32_t>(&id, 1)));
  const double scale = m.config.divide_by_senses ? 1.0 / static_cast<double>(m.config.num_senses) : 1.0;
  const auto logits = (dot<Embed>(m.senses(ids, {}), m.head()) * scale).array().to_vector<float>();
  std::vector<std::vector<SensePrediction>> out;
  for (std::size_t first = 0; first < logits.size(); first += static_cast<std::size_t>(vocab)) {
    std::vector<SensePrediction> all;
    for (std::int64_t i = 0; i < vocab; ++i)
      all.push_back({static_cast<std::int32_t>(i), logits[first + static_cast<std::size_t>(i)]});
    const auto middle = all.begin() + std::min(top, vocab);
    std::partial_sort(all.begin(), middle, all.end(), [](const auto& a, const auto& b) {
      return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
    });
    all.erase(middle, all.end());
    out.push_back(std::move(all));
  }
  return out;
}

}  // namespace bora::run
