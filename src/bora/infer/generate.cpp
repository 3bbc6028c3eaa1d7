// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/generate.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "bora/infer/engine.h"

namespace bora::infer {

std::vector<Generated> generate_all(const nn::LanguageModel& model, const std::vector<Request>& requests,
                                    const OnToken& on_token) {
  Engine engine(model, {.rows = std::max<std::int64_t>(1, std::ssize(requests)),
                        .prompt_tokens = std::numeric_limits<std::int64_t>::max()});
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Engine::OnToken each;
    if (on_token) each = [&on_token, i](std::int32_t id) { return on_token(i, id); };
    engine.add(requests[i], std::move(each));
  }
  while (engine.step()) {
  }
  std::vector<Generated> out(requests.size());
  for (auto& [id, text] : engine.take_done()) out[static_cast<std::size_t>(id)] = std::move(text);
  return out;
}

std::vector<std::vector<std::int32_t>> generate(const nn::LanguageModel& model,
                                                const std::vector<Request>& requests,
                                                const OnToken& on_token) {
  std::vector<std::vector<std::int32_t>> out;
  for (auto& each : generate_all(model, requests, on_token)) out.push_back(std::move(each.ids));
  return out;
}

std::vector<std::int32_t> generate(const nn::LanguageModel& model, const std::vector<std::int32_t>& prompt,
                                   const GenerateOptions& options,
                                   const std::function<bool(std::int32_t)>& on_token) {
  OnToken each;
  if (on_token) each = [&](std::size_t, std::int32_t id) { return on_token(id); };
  return generate(model, std::vector<Request>{{prompt, options}}, each).front();
}

}  // namespace bora::infer
