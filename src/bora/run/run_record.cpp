// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/run_record.h"

#include <string_view>

#include "bora/base/clock.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/secrets.h"
#include "bora/core/runtime.h"

namespace bora::run {
namespace {

std::string record_file(const std::string& run_directory) { return path_join(run_directory, "run.json"); }

Json recorded(const std::string& run_directory, const char* key) {
  const auto file = record_file(run_directory);
  if (!exists(file)) return {};
  const auto record = Json::parse(read_text(file), nullptr, /*allow_exceptions=*/false);
  return record.is_object() ? record.value(key, Json()) : Json();
}

}  // namespace

void record_run(const LoadedConfig& loaded, const RunPlace& place, const TextData& text, std::int64_t lanes,
                double started) {
  auto config = loaded.config;
  write_atomically(path_join(place.directory, "config.yaml"), write_config(config), Access::Owner);
  auto info = core::runtime_info();
  Json record = {{"bora", BORA_VERSION},
                 {"libtorch", info.libtorch},
                 {"cpu", info.cpu},
                 {"simd", info.simd_target},
                 {"matmul", info.matmul},
                 {"arithmetic", info.arithmetic},
                 {"threads", info.threads},
                 {"lanes", lanes},
                 {"started", iso_time(started)}};
  for (const auto& c : text.caches) {
    if (c.train) record["data"][c.name] = c.train->num_tokens();
  }
  record["tokenizer"] = text.tokenizer.fingerprint().hex();
  write_atomically(record_file(place.directory), redact(record.dump(2)) + "\n", Access::Owner);
  text.tokenizer.save(path_join(place.directory, "tokenizer"));
}

std::string recorded_arithmetic(const std::string& run_directory) {
  const auto recorded_words = recorded(run_directory, "arithmetic");
  if (!recorded_words.is_string()) return "";
  auto words = recorded_words.get<std::string>();
  constexpr std::string_view before = "(own products";  // the name of the same products in older records
  if (const auto at = words.find(before); at != std::string::npos)
    words.replace(at, before.size(), "(bora products");
  return words;
}

std::optional<std::int64_t> lanes_of_record(const std::string& run_directory) {
  const auto lanes = recorded(run_directory, "lanes");
  if (!lanes.is_number_integer() || lanes.get<std::int64_t>() < 1) return std::nullopt;
  return lanes.get<std::int64_t>();
}

}  // namespace bora::run
