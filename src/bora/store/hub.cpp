// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The cache's layout and the two requests (a listing of a revision, and a file of a commit) are those of
// https://huggingface.co/docs/huggingface_hub/guides/manage-cache and https://huggingface.co/docs/hub/api.
#include "bora/store/hub.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/log.h"
#include "bora/base/text.h"
#include "bora/store/download.h"
#include "bora/store/http_request.h"
#include "bora/store/sha256.h"

namespace bora::store {
namespace {

constexpr std::string_view kModels = "models--";
constexpr std::string_view kIndex = "model.safetensors.index.json", kSingle = "model.safetensors";
constexpr std::size_t kLongestListing = 64 << 20;
constexpr int kTries = 4;
constexpr double kLockSeconds = 0.1;

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}
bool is_commit(std::string_view text) { return is_hex(text, 40); }

bool is_word(std::string_view text) {
  constexpr std::string_view kPunctuation = "._-";
  const auto plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kPunctuation.find(c) != kPunctuation.npos;
  };
  return !text.empty() && text.size() <= 96 && text.front() != '.' && text.front() != '-' &&
         text.find("..") == text.npos && std::all_of(text.begin(), text.end(), plain);
}

bool are_words(std::string_view text, std::size_t most) {
  const auto parts = split(text, '/');
  return parts.size() <= most && std::all_of(parts.begin(), parts.end(), is_word);
}

std::string replaced(std::string text, char from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, 1, to);
  return text;
}

struct Entry {
  std::string name, etag;
  std::int64_t size = -1;
};

struct Listing {
  std::string commit;
  std::map<std::string, Entry> files;  // of the top folder
  std::vector<std::string> others;     // names of all
};

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

class Repository {
 public:
  Repository(HubRepo repo, const HubOptions& options)
      : repo_(std::move(repo)),
        options_(options),
        folder_(path_join(options.cache, std::string(kModels) + replaced(repo_.id, '/', "--"))) {}

  std::string fetch(HubFiles wanted) {
    if (is_commit(repo_.revision)) {
      auto there = snapshot(repo_.revision);
      if (is_noted(repo_.revision, wanted) && is_whole(there, wanted)) return there;
    }
    if (options_.offline) return from_cache(wanted, "HF_HUB_OFFLINE is set");
    Listing listing;
    try {
      listing = read_listing();
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::Io) throw;
      auto there = from_cache(wanted, e.what());
      log_warning("{}; going on with {}", e.what(), there);
      return there;
    }
    require_weights(listing, wanted);
    files().make_directories(snapshot(listing.commit));
    for (const auto& [name, entry] : listing.files)
      if (is_of_tokenizer(name)) fetch_file(listing, entry);
    if (wanted == HubFiles::Weights) fetch_weights(listing);
    if (!is_commit(repo_.revision)) {
      const auto path = path_join(path_join(folder_, "refs"), repo_.revision);
      files().make_directories(parent_path(path));
      write_atomically(path, listing.commit);
    }
    const auto whole = note(listing.commit, wanted);
    files().make_directories(parent_path(whole));
    write_atomically(whole, "");
    return snapshot(listing.commit);
  }

 private:
  // That all of a commit has come, which its folder does not show: other programs fetch single files.
  std::string note(const std::string& commit, HubFiles of) const {
    return path_join(path_join(folder_, "bora-whole"), fmt::format("{}-{}", commit, static_cast<int>(of)));
  }
  bool is_noted(const std::string& commit, HubFiles wanted) const {
    return exists(note(commit, HubFiles::Weights)) || exists(note(commit, wanted)) ||
           (wanted == HubFiles::Tokenizer && exists(note(commit, HubFiles::Model)));
  }

  std::string snapshot(const std::string& commit) const {
    return path_join(path_join(folder_, "snapshots"), commit);
  }

  static bool is_whole(const std::string& there, HubFiles wanted) {
    if (!exists(there)) return false;
    if (wanted == HubFiles::Tokenizer) {
      const auto names = files().list(there);
      return std::any_of(names.begin(), names.end(), [](const auto& name) {
        return is_of_tokenizer(name) && name.find("config") == name.npos;
      });
    }
    if (!exists(path_join(there, "config.json"))) return false;
    if (wanted == HubFiles::Model) return true;
    const auto index = path_join(there, std::string(kIndex));
    if (!exists(index)) return exists(path_join(there, std::string(kSingle)));
    const auto shards = shards_of(index);
    return std::all_of(shards.begin(), shards.end(),
                       [&](const auto& shard) { return exists(path_join(there, shard)); });
  }

  std::string from_cache(HubFiles wanted, std::string_view why) const {
    auto commit = repo_.revision;
    if (!is_commit(commit)) {
      const auto ref = path_join(path_join(folder_, "refs"), repo_.revision);
      commit = exists(ref) ? std::string(trim(read_text(ref))) : "";
    }
    if (is_commit(commit) && is_whole(snapshot(commit), wanted)) return snapshot(commit);
    fail(ErrorKind::NotFound,
         "{}: {} of revision {} is not in {} yet, and the hub was not asked or not reached: {}\n"
         "hint: fetch it where there is a network, or give a folder",
         repo_.id, wanted == HubFiles::Tokenizer ? "the tokenizer" : "the model", repo_.revision,
         options_.cache, why);
  }

  static std::set<std::string> shards_of(const std::string& index) {
    const auto json = parse_json(read_text(index), index);
    std::set<std::string> out;
    const auto map = json.find("weight_map");
    if (map == json.end() || !map->is_object() || map->empty())
      fail(ErrorKind::Corruption, "{}: has no weight_map, which says where the weights are", index);
    for (const auto& [tensor, file] : map->items()) {
      if (!file.is_string() || !is_word(file.get<std::string>()))
        fail(ErrorKind::Corruption, "{}: {} is said to be in {}, which is no file of that folder", index,
             tensor, file.dump());
      out.insert(file.get<std::string>());
    }
    return out;
  }

  // The hub's listing of the revision.
  Listing read_listing() const {
    const auto url = fmt::format("{}/api/models/{}/revision/{}?blobs=true", options_.endpoint, repo_.id,
                                 replaced(repo_.revision, '/', "%2F"));
    const auto shown = fmt::format("{}/api/models/{}", options_.endpoint, repo_.id);
    const auto json = parse_json(get(url, shown), shown);
    Listing out{.commit = json_get<std::string>(json, "sha", shown), .files = {}, .others = {}};
    if (!is_commit(out.commit))
      fail(ErrorKind::Corruption, "{}: says that its commit is \"{}\", which is none", shown, out.commit);
    for (const auto& file : json.value("siblings", Json::array())) {
      const auto name = json_get<std::string>(file, "rfilename", shown);
      out.others.push_back(name);
      if (!is_word(name)) continue;  // in a folder, or hidden
      const auto lfs = file.find("lfs");
      const bool large = lfs != file.end() && lfs->is_object();
      Entry entry{
          name,
          large ? json_get<std::string>(*lfs, "sha256", shown) : json_get<std::string>(file, "blobId", shown),
          json_get<std::int64_t>(large ? *lfs : file, "size", shown)};
      if (!is_hex(entry.etag, 40) && !is_sha256(entry.etag))
        fail(ErrorKind::Corruption, "{}: {} has the hash \"{}\", which is none", shown, name, entry.etag);
      out.files[name] = std::move(entry);
    }
    return out;
  }

  std::string get(const std::string& url, const std::string& shown) const {
    for (int attempt = 1;; ++attempt) {
      try {
        return get_once(url, shown);
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::Io || attempt == kTries) throw;
        sleep(options_.pause_seconds * (1 << (attempt - 1)));
      }
    }
  }

  std::string get_once(const std::string& url, const std::string& shown) const {
    std::string body;
    const auto answer = http_get({.url = url,
                                  .connect_seconds = 10,
                                  .allow_private = options_.allow_private,
                                  .bearer = options_.token},
                                 {[](const HttpAnswer& head) { return head.status == 200; },
                                  [&](std::span<const std::byte> bytes) {
                                    if (body.size() + bytes.size() > kLongestListing)
                                      fail(ErrorKind::Unsupported, "{}: answers with more than {} MiB", shown,
                                           kLongestListing >> 20);
                                    body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                                  }});
    if (answer.status == 200) return body;
    if (answer.status == 401 || answer.status == 403 || answer.status == 404) {
      fail(ErrorKind::NotFound,
           "{}: the hub has no such model, no revision {} of it, or {} (it says {})\n"
           "hint: check the name; for one that is private or asks for consent, set HF_TOKEN",
           repo_.id, repo_.revision,
           options_.token.empty() ? "shows it to those with a token" : "does not show it to this token",
           answer.status);
    }
    const bool may_pass = answer.status >= 500 || answer.status == 408 || answer.status == 429;
    fail(may_pass ? ErrorKind::Io : ErrorKind::Unsupported, "{}: the hub says {}", shown, answer.status);
  }

  void require_weights(const Listing& listing, HubFiles wanted) const {
    if (wanted == HubFiles::Tokenizer) return;
    if (listing.files.contains(std::string(kIndex)) || listing.files.contains(std::string(kSingle))) return;
    std::string found;
    for (const auto& name : listing.others)
      for (const std::string_view end : {".bin", ".safetensors", ".gguf", ".pth", ".msgpack", ".h5"})
        if (name.ends_with(end)) found += (found.empty() ? "" : ", ") + name;
    fail(ErrorKind::Unsupported,
         "{}: revision {} has neither {} nor {}, but {}\n"
         "hint: Bora reads safetensors; the hub often has them under @refs/pr/N",
         repo_.id, repo_.revision, kSingle, kIndex, found.empty() ? "no weights" : found);
  }

  void fetch_weights(const Listing& listing) {
    const auto index = listing.files.find(std::string(kIndex));
    if (index == listing.files.end()) return fetch_file(listing, listing.files.at(std::string(kSingle)));
    fetch_file(listing, index->second);
    const auto path = path_join(snapshot(listing.commit), std::string(kIndex));
    for (const auto& shard : shards_of(path)) {
      const auto entry = listing.files.find(shard);
      if (entry == listing.files.end())
        fail(ErrorKind::NotFound, "{}: {} names {}, which revision {} does not have", repo_.id, kIndex, shard,
             repo_.revision);
      fetch_file(listing, entry->second);
    }
  }

  void fetch_file(const Listing& listing, const Entry& entry) {
    const auto link = path_join(snapshot(listing.commit), entry.name);
    if (exists(link)) return;
    const auto blob = path_join(path_join(folder_, "blobs"), entry.etag);
    if (!exists(blob)) {
      const auto locks = path_join(path_join(options_.cache, ".locks"), base_name(folder_));
      files().make_directories(locks);
      const auto lock = wait_for_lock(path_join(locks, entry.etag + ".lock"), entry.name);
      if (!exists(blob)) fetch_blob(listing, entry, blob);
    }
    std::error_code error;
    std::filesystem::create_symlink("../../blobs/" + entry.etag, link, error);
    if (error && !exists(link))
      fail(ErrorKind::Io, "{}: cannot be made a link to its content: {}", link, error.message());
  }

  void fetch_blob(const Listing& listing, const Entry& entry, const std::string& blob) {
    files().make_directories(parent_path(blob));
    const auto parts = blob + ".bora";  // a folder, which goes when the file is whole
    if (entry.size > 10'000'000)
      log_info("fetching {} of {}, {}", entry.name, repo_.id, human_bytes(static_cast<double>(entry.size)));
    const auto url = fmt::format("{}/{}/resolve/{}/{}{}", options_.endpoint, repo_.id, listing.commit,
                                 entry.name, is_sha256(entry.etag) ? "#sha256=" + entry.etag : "");
    const auto path = download(url, parts,
                               {.pause_seconds = options_.pause_seconds,
                                .allow_private = options_.allow_private,
                                .bearer = options_.token});
    const auto size = static_cast<std::int64_t>(files().info(path)->size);
    if (size != entry.size) {
      remove_all(parts);
      fail(ErrorKind::Corruption, "{} of {}: came with {} bytes, but the hub lists it with {}", entry.name,
           repo_.id, size, entry.size);
    }
    files().rename(path, blob);
    files().sync_directory(parent_path(blob));
    remove_all(parts);
  }

  std::unique_ptr<FileLock> wait_for_lock(const std::string& path, const std::string& name) const {
    for (bool told = false;; told = true) {
      if (auto lock = files().try_lock(path)) return lock;
      if (!told) log_info("waiting for another process that fetches {} of {}", name, repo_.id);
      sleep(kLockSeconds);
    }
  }

  static void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

  HubRepo repo_;
  const HubOptions& options_;
  std::string folder_;
};

// The commit that a revision was when this process first asked: what belongs together stays together.
std::string pinned(const HubRepo& repo, const HubOptions& options, const std::string& commit = "") {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  auto& kept = known[options.endpoint + " " + options.cache + " " + repo.id + "@" + repo.revision];
  if (!commit.empty()) kept = commit;
  return kept.empty() ? repo.revision : kept;
}

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
  return out;
}

std::string fetch_from_hub(const HubRepo& repo, HubFiles files, const HubOptions& options) {
  auto folder = Repository({repo.id, pinned(repo, options)}, options).fetch(files);
  pinned(repo, options, base_name(folder));
  return folder;
}

bool is_hub_snapshot(const std::string& folder) {
  return is_commit(base_name(folder)) && base_name(parent_path(folder)) == "snapshots" &&
         base_name(parent_path(parent_path(folder))).starts_with(kModels);
}

void fetch_weights(const std::string& snapshot, const HubOptions& options) {
  const auto repository = parent_path(parent_path(snapshot));
  if (!is_hub_snapshot(snapshot) || parent_path(repository) != options.cache) return;
  auto id = base_name(repository).substr(kModels.size());
  if (const auto at = id.find("--"); at != id.npos) id.replace(at, 2, "/");
  Repository({id, base_name(snapshot)}, options).fetch(HubFiles::Weights);
}

}  // namespace bora::store
