// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/generation_config.h"

#include <algorithm>
#include <array>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/run/open_model.h"

namespace bora::run {
namespace {

constexpr const char *kBegin = "bos_token_id", *kEnd = "eos_token_id", *kPad = "pad_token_id";
constexpr std::array kKeys = {kBegin, kEnd, kPad};
/// Of models of speech.
constexpr std::array kSpeechKeys = {"decoder_start_token_id", "suppress_tokens", "begin_suppress_tokens"};
constexpr const char* kForced = "forced_decoder_ids";
constexpr std::string_view kFile = "generation_config.json";

Json read_object(const std::string& path) {
  Json json = parse_json(read_text(path), path);
  if (!json.is_object()) {
    fail(ErrorKind::Corruption, "{}: should be an object but is {}", path,
         std::string_view(json.type_name()));
  }
  return json;
}

std::vector<std::int64_t> ids_of(const Json& json, const char* key, const std::string& path) {
  const auto found = json.find(key);
  std::vector<std::int64_t> out;
  if (found == json.end() || found->is_null()) return out;
  const Json list = found->is_array() ? *found : Json::array({*found});
  for (const Json& id : list) {
    if (!id.is_number_integer()) {
      fail(ErrorKind::Corruption, "{}: {} should be an id or a list of ids but is {}", path, key,
           found->dump());
    }
    out.push_back(id.get<std::int64_t>());
  }
  return out;
}

void put(Json& json, const char* key, const std::vector<std::int64_t>& ids) {
  if (ids.empty())
    json.erase(key);
  else if (ids.size() == 1)
    json[key] = ids.front();
  else
    json[key] = ids;
}

/// What a directory itself says.
Json written_in(const std::string& directory) {
  const std::string own = path_join(directory, kFile), config = path_join(directory, "config.json");
  const bool has_own = exists(own);
  Json out = has_own ? read_object(own) : Json::object();
  if (!exists(config)) return out;
  const Json model = read_object(config);
  // transformers looks for these in both, even where the first is there.
  if (model.contains(kForced) && (!out.contains(kForced) || out[kForced].is_null()))
    out[kForced] = model[kForced];
  if (has_own) return out;
  for (const char* key : kKeys) {
    if (model.contains(key)) out[key] = model[key];
  }
  for (const char* key : kSpeechKeys) {
    if (model.contains(key) && !model[key].is_null()) out[key] = model[key];
  }
  return out;
}

}  // namespace

Json generation_of(const std::string& directory, const std::optional<Tokenizer>& tokenizer,
                   std::int64_t vocab_size) {
  Json out = written_in(directory);
  const auto settle = [&](const char* key, std::optional<std::int32_t> of_tokenizer, bool joins) {
    auto ids = ids_of(out, key, directory);
    std::erase_if(ids, [&](std::int64_t id) { return id < 0 || id >= vocab_size; });
    if (of_tokenizer && (joins || ids.empty()) &&
        std::find(ids.begin(), ids.end(), *of_tokenizer) == ids.end())
      ids.push_back(*of_tokenizer);
    put(out, key, ids);
  };
  const auto of = [&](auto get) { return tokenizer ? get(*tokenizer) : std::nullopt; };
  settle(kBegin, of([](const Tokenizer& t) { return t.bos_id(); }), false);
  settle(kEnd, of([](const Tokenizer& t) { return t.eos_id(); }), true);
  settle(kPad, of([](const Tokenizer& t) { return t.pad_id(); }), false);
  return out;
}

std::vector<std::int32_t> stop_ids(const Json& generation) {
  std::vector<std::int32_t> out;
  for (const std::int64_t id : ids_of(generation, kEnd, std::string(kFile)))
    out.push_back(static_cast<std::int32_t>(id));
  return out;
}

void keep_generation(const std::string& from, const Tokenizer& tokenizer, const std::string& run) {
  const std::string to = path_join(run, kFile);
  const auto theirs = tokenizer_near(from);
  const bool same = !theirs || theirs->fingerprint() == tokenizer.fingerprint();
  const Json kept = same ? written_in(from) : Json::object();
  if (kept.empty())
    remove_all(to);
  else
    write_atomically(to, kept.dump(2) + "\n");
}

}  // namespace bora::run
