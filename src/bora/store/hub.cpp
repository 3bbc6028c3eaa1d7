// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/hub.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/log.h"
#include "bora/base/text.h"
#include "bora/store/hub_cache.h"

namespace bora::store {
namespace {

constexpr std::string_view kModels = "models--";
constexpr std::string_view kIndex = "model.safetensors.index.json", kSingle = "model.safetensors";

bool are_words(std::string_view text, std::size_t most) {
  const auto parts = split(text, '/');
  return parts.size() <= most && std::all_of(parts.begin(), parts.end(), is_hub_word);
}

bool is_of_tokenizer(std::string_view name) {
  constexpr std::array<std::string_view, 14> kNames = {"config.json",
                                                       "generation_config.json",
                                                       "tokenizer.json",
                                                       "tokenizer_config.json",
                                                       "special_tokens_map.json",
                                                       "added_tokens.json",
                                                       "vocab.json",
                                                       "merges.txt",
                                                       "vocab.txt",
                                                       "tokenizer.model",
                                                       "spiece.model",
                                                       "chat_template.jinja",
                                                       "chat_template.json",
                                                       "preprocessor_config.json"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() || name.ends_with(".tiktoken");
}

std::set<std::string> shards_of(const std::string& index) {
  const auto json = parse_json(read_text(index), index);
  std::set<std::string> out;
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object() || map->empty())
    fail(ErrorKind::Corruption, "{}: has no weight_map, which says where the weights are", index);
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || !is_hub_word(file.get<std::string>()))
      fail(ErrorKind::Corruption, "{}: {} is said to be in {}, which is no file of that folder", index,
           tensor, file.dump());
    out.insert(file.get<std::string>());
  }
  return out;
}

class Model {
 public:
  Model(const HubRepo& repo, const HubOptions& options) : cache_(HubKind::Model, repo, options) {}

  std::string fetch(HubFiles wanted) {
    const auto fixed = cache_.fixed_commit();
    if (fixed && is_whole(*fixed, wanted)) return cache_.snapshot(*fixed);
    if (cache_.options().offline) return from_cache(wanted, "HF_HUB_OFFLINE is set");
    HubListing listing;
    try {
      listing = cache_.ask();
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::Io) throw;
      auto there = from_cache(wanted, e.what());
      log_warning("{}; going on with {}", e.what(), there);
      return there;
    }
    require_weights(listing, wanted);
    std::vector<std::string> names;
    for (const auto& [name, entry] : listing.files)
      if (is_of_tokenizer(name)) names.push_back(name);
    if (wanted == HubFiles::Weights) add_weights(listing, names);
    cache_.begin(listing.commit, word(wanted), names);
    cache_.fetch(listing, names);
    cache_.note(listing.commit, word(wanted), names);
    return cache_.snapshot(listing.commit);
  }

 private:
  static std::string word(HubFiles files) {
    return files == HubFiles::Tokenizer ? "tokenizer" : files == HubFiles::Model ? "model" : "weights";
  }
  // What was noted of a commit that is, or holds, what is wanted.
  std::optional<std::vector<std::string>> noted(const std::string& commit, HubFiles wanted) const {
    for (const auto files : {HubFiles::Tokenizer, HubFiles::Model, HubFiles::Weights}) {
      if (files < wanted) continue;
      if (auto names = cache_.noted(commit, word(files))) return names;
    }
    return std::nullopt;
  }
  // What it would be, if somebody had been able to fetch all of it.
  std::optional<std::vector<std::string>> begun(const std::string& commit, HubFiles wanted) const {
    for (const auto files : {HubFiles::Tokenizer, HubFiles::Model, HubFiles::Weights}) {
      if (files < wanted) continue;
      auto names = cache_.begun(commit, word(files));
      if (!names) continue;
      if (wanted != HubFiles::Weights)
        std::erase_if(*names, [](const std::string& name) { return !is_of_tokenizer(name); });
      return names;
    }
    return std::nullopt;
  }
  bool is_whole(const std::string& commit, HubFiles wanted) const {
    const auto names = noted(commit, wanted);
    return names && cache_.missing(commit, *names).empty();
  }

  // Of what another program has fetched.
  static bool seems_whole(const std::string& there, HubFiles wanted) {
    if (!exists(there)) return false;
    if (wanted == HubFiles::Tokenizer) {
      const auto names = files().list(there);
      return std::any_of(names.begin(), names.end(), [](const auto& name) {
        return is_of_tokenizer(name) && name.find("config") == name.npos;
      });
    }
    if (!exists(path_join(there, "config.json"))) return false;
    if (wanted == HubFiles::Model) return true;
    if (exists(path_join(there, std::string(kSingle)))) return true;
    const auto index = path_join(there, std::string(kIndex));
    if (!exists(index)) return false;
    const auto shards = shards_of(index);
    return std::all_of(shards.begin(), shards.end(),
                       [&](const auto& shard) { return exists(path_join(there, shard)); });
  }
  // Nobody has noted what belongs to a tokenizer that another program has fetched.
  void warn_of_parts(const std::string& there) const {
    const auto has = [&](const char* name) { return exists(path_join(there, name)); };
    if (has("tokenizer_config.json") && has("vocab.json") == has("merges.txt")) return;
    std::string names;
    for (const auto& name : files().list(there))
      if (is_of_tokenizer(name)) names += (names.empty() ? "" : ", ") + name;
    log_warning("{}: of the tokenizer the cache has {} alone; whether more belongs to it, only the hub knows",
                cache_.repo().id, names);
  }

  std::string from_cache(HubFiles wanted, std::string_view why) const {
    const auto commit = cache_.known_commit();
    std::string lacking;
    if (commit) {
      auto there = cache_.snapshot(*commit);
      auto names = noted(*commit, wanted);
      if (!names) names = begun(*commit, wanted);
      if (names) {
        const auto missing = cache_.missing(*commit, *names);
        if (missing.empty()) return there;
        lacking = fmt::format(" (it lacks {}, by a note in {})", join(missing), cache_.notes());
      } else if (seems_whole(there, wanted)) {
        warn_of_parts(there);
        return there;
      } else if (!exists(there) && exists(cache_.ref())) {
        lacking = fmt::format(" ({} says commit {}, of which nothing is there)", cache_.ref(), *commit);
      }
    } else if (exists(cache_.ref())) {
      lacking = fmt::format(" ({} names no commit)", cache_.ref());
    }
    fail(ErrorKind::NotFound,
         "{}: {} of revision {} is not in {} yet{}, and the hub was not asked or not reached: {}\n"
         "hint: fetch it where there is a network, or give a folder",
         cache_.repo().id, wanted == HubFiles::Tokenizer ? "the tokenizer" : "the model",
         cache_.repo().revision, cache_.options().cache, lacking, why);
  }

  void require_weights(const HubListing& listing, HubFiles wanted) const {
    if (wanted == HubFiles::Tokenizer) return;
    if (listing.files.contains(std::string(kIndex)) || listing.files.contains(std::string(kSingle))) return;
    std::string found;
    for (const auto& [name, entry] : listing.files)
      for (const std::string_view end : {".bin", ".safetensors", ".gguf", ".pth", ".msgpack", ".h5"})
        if (name.ends_with(end)) found += (found.empty() ? "" : ", ") + name;
    fail(ErrorKind::Unsupported,
         "{}: revision {} has neither {} nor {}, but {}\n"
         "hint: Bora reads safetensors; the hub often has them under @refs/pr/N",
         cache_.repo().id, cache_.repo().revision, kSingle, kIndex, found.empty() ? "no weights" : found);
  }

  // As transformers: the single file before the index, which is fetched for what it names.
  void add_weights(const HubListing& listing, std::vector<std::string>& names) {
    const std::string index(kIndex), single(kSingle);
    if (listing.files.contains(single)) {
      names.push_back(single);
      return;
    }
    cache_.fetch(listing, {index});
    names.push_back(index);
    const auto shards = shards_of(path_join(cache_.snapshot(listing.commit), index));
    for (const auto& shard : shards)
      if (!listing.files.contains(shard))
        fail(ErrorKind::NotFound, "{}: {} names {}, which revision {} does not have", cache_.repo().id,
             kIndex, shard, cache_.repo().revision);
    names.insert(names.end(), shards.begin(), shards.end());
  }

  HubCache cache_;
};

}  // namespace

std::optional<HubRepo> parse_hub_repo(std::string_view text) {
  HubRepo out;
  if (const auto at = text.find('@'); at != text.npos) {
    out.revision = text.substr(at + 1);
    text = text.substr(0, at);
    if (!are_words(out.revision, 8)) return std::nullopt;
  }
  if (!are_words(text, 2) || text.find("--") != text.npos) return std::nullopt;
  out.id = text;
  return out;
}

HubOptions hub_options() {
  HubOptions out;
  const auto home = env::hub_home();
  out.cache = env::hub_cache().value_or(path_join(home, "hub"));
  if (const auto endpoint = env::hub_endpoint()) {
    out.endpoint = *endpoint;
    while (out.endpoint.ends_with('/')) out.endpoint.pop_back();
    out.allow_private = true;
  }
  out.offline = env::hub_offline();
  out.token = env::hub_token().value_or("");
  const auto path = env::hub_token_path().value_or(path_join(home, "token"));
  if (out.token.empty() && exists(path)) out.token = read_text(path);
  out.token = trim(out.token);
  const bool may_stand =
      std::all_of(out.token.begin(), out.token.end(), [](char c) { return c > 0x20 && c < 0x7F; });
  if (!may_stand)
    fail(ErrorKind::Config,
         "{} holds a character that no token has: a space, a control character or one beyond ASCII\n"
         "hint: copy the token again; it begins with hf_",
         trim(env::hub_token().value_or("")).empty() ? path : "HF_TOKEN");
  return out;
}

std::string fetch_from_hub(const HubRepo& repo, HubFiles files, const HubOptions& options) {
  return Model(repo, options).fetch(files);
}

bool is_hub_snapshot(const std::string& folder) {
  return is_hub_commit(base_name(folder)) && base_name(parent_path(folder)) == "snapshots" &&
         base_name(parent_path(parent_path(folder))).starts_with(kModels);
}

void fetch_weights(const std::string& snapshot, const HubOptions& options) {
  const auto repository = parent_path(parent_path(snapshot));
  if (!is_hub_snapshot(snapshot) || parent_path(repository) != options.cache) return;
  auto id = base_name(repository).substr(kModels.size());
  if (const auto at = id.find("--"); at != id.npos) id.replace(at, 2, "/");
  Model({id, base_name(snapshot)}, options).fetch(HubFiles::Weights);
}

}  // namespace bora::store
