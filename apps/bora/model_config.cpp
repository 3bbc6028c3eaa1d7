// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "model_config.h"

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/models/gpt2_config.h"
#include "bora/models/llama_config.h"

namespace bora::app {
namespace {

struct Entry {
  std::string type;
  std::unique_ptr<ModelConfig> (*fresh)(const std::string& type);
  std::unique_ptr<ModelConfig> (*from_hf)(const std::string& type, const Json&, std::string_view);
};

template <class Config>
Entry entry(const char* name) {
  using Of = ModelConfigOf<Config>;
  return {name,
          [](const std::string& type) -> std::unique_ptr<ModelConfig> { return std::make_unique<Of>(type); },
          [](const std::string& type, const Json& c, std::string_view file) -> std::unique_ptr<ModelConfig> {
            return std::make_unique<Of>(type, Config::from_hf(c, file));
          }};
}

// The registry: a line here and one in models.cpp for each architecture.
const std::vector<Entry>& registry() {
  static const std::vector<Entry> entries = {entry<gpt2::Config>("gpt2"), entry<llama::Config>("llama")};
  return entries;
}

}  // namespace

std::vector<std::string> model_types() {
  std::vector<std::string> out;
  for (const auto& e : registry()) out.push_back(e.type);
  return out;
}

std::unique_ptr<ModelConfig> make_model_config(std::string_view type) {
  for (const auto& e : registry())
    if (e.type == type) return e.fresh(e.type);
  return nullptr;
}

std::unique_ptr<ModelConfig> model_config_from_hf(const Json& config, std::string_view name) {
  auto type = json_get<std::string>(config, "model_type", name);
  for (const auto& e : registry())
    if (e.type == type) return e.from_hf(e.type, config, name);
  auto types = model_types();
  fail(ErrorKind::Unsupported, "{}: model_type {} is not one of {}", name, type, join(types));
}

std::int64_t vocab_size_from_hf(const Json& config, std::string_view name) {
  const auto size = json_get<std::int64_t>(config, "vocab_size", name);
  if (const auto wrong = kSize.problem<std::int64_t>(static_cast<double>(size)))
    fail(ErrorKind::Corruption, "{}: vocab_size = {} {}", name, size, *wrong);
  return size;
}

}  // namespace bora::app
