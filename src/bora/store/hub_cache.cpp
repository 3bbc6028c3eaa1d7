// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The cache's layout and the two requests (a listing of a revision, and a file of a commit) are those of
// https://huggingface.co/docs/huggingface_hub/guides/manage-cache and https://huggingface.co/docs/hub/api.
#include "bora/store/hub_cache.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/hash.h"
#include "bora/base/json.h"
#include "bora/base/link.h"
#include "bora/base/log.h"
#include "bora/base/text.h"
#include "bora/store/download.h"
#include "bora/store/http_request.h"
#include "bora/store/quiet_downloads.h"
#include "bora/store/sha256.h"

namespace bora::store {
namespace {

constexpr std::size_t kLongestListing = 64 << 20;
constexpr int kTries = 4;
constexpr double kBetweenLooks = 0.1;
constexpr std::int64_t kToldFrom = 10'000'000;  // bytes of a file that is named while it comes

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string replaced(std::string text, char from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, 1, to);
  return text;
}

// A path within the repository's folder and nowhere else, no part of which is hidden.
bool is_plain_path(std::string_view name) {
  const auto parts = split(name, '/');
  return name.size() <= 1024 && std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
           return !part.empty() && part.front() != '.' && std::none_of(part.begin(), part.end(), [](char c) {
             return static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7F;
           });
         });
}

// As the path of a URL has it.
std::string escaped(std::string_view name) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._/";
  std::string out;
  for (const char c : name)
    out += kPlain.find(c) != kPlain.npos
               ? std::string(1, c)
               : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return out;
}

// A folder, which goes when the file is whole.
std::string parts_of(const std::string& blob) { return blob + ".bora"; }

std::string begun_path(const std::string& note) { return note + ".begun"; }

// Of a note; nothing where it is damaged: it can be made again.
std::optional<std::vector<std::string>> names_in(const std::string& note) {
  if (!exists(note)) return std::nullopt;
  const auto json = Json::parse(read_text(note), nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) return std::nullopt;
  std::vector<std::string> names;
  for (const auto& name : json) {
    if (!name.is_string() || !is_plain_path(name.get<std::string>())) return std::nullopt;
    names.push_back(name.get<std::string>());
  }
  return names;
}

std::string_view plural(HubKind kind) { return kind == HubKind::Model ? "models" : "datasets"; }
std::string_view one(HubKind kind) { return kind == HubKind::Model ? "model" : "data set"; }

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

std::unique_ptr<FileLock> wait_for_lock(const std::string& path, const std::string& name,
                                        const std::string& id) {
  for (bool told = false;; told = true) {
    if (auto lock = files().try_lock(path)) return lock;
    if (!told) log_info("waiting for another process that fetches {} of {}", name, id);
    sleep(kBetweenLooks);
  }
}

// By the endpoint, the kind, the repository and its branch.
struct Pins {
  std::mutex mutex;
  std::map<std::string, std::string> commits;
};
Pins& pins() {
  static Pins all;
  return all;
}

std::string pin_name(HubKind kind, const HubRepo& repo, const HubOptions& options) {
  return fmt::format("{} {} {} {}@{}", options.endpoint, options.cache, plural(kind), repo.id, repo.revision);
}

std::string pinned(const std::string& name, const std::string& otherwise) {
  const std::lock_guard lock(pins().mutex);
  const auto found = pins().commits.find(name);
  return found == pins().commits.end() ? otherwise : found->second;
}

}  // namespace

bool is_hub_commit(std::string_view text) { return is_hex(text, 40); }

bool is_hub_word(std::string_view text) {
  constexpr std::string_view kPunctuation = "._-";
  const auto plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kPunctuation.find(c) != kPunctuation.npos;
  };
  return !text.empty() && text.size() <= 96 && text.front() != '.' && text.front() != '-' &&
         text.find("..") == text.npos && std::all_of(text.begin(), text.end(), plain);
}

std::string hub_pins() {
  const std::lock_guard lock(pins().mutex);
  std::string out;
  for (const auto& [name, commit] : pins().commits) out += commit + " " + name + "\n";
  return out;
}

void adopt_hub_pins(std::string_view given) {
  const std::lock_guard lock(pins().mutex);
  for (const auto& line : split(given, '\n')) {
    if (line.size() < 42 || !is_hub_commit(line.substr(0, 40))) continue;
    const auto name = line.substr(41), commit = line.substr(0, 40);
    const auto& known = pins().commits.emplace(name, commit).first->second;
    if (known == commit) continue;
    fail(ErrorKind::Config,
         "the hub's {} was commit {} on rank 0 and is {} here: it has moved while the workers started\n"
         "hint: start again, or name the commit, owner/name@{}",
         name.substr(name.rfind(' ') + 1), commit, known, commit);
  }
}

HubCache::HubCache(HubKind kind, HubRepo repo, const HubOptions& options)
    : kind_(kind),
      repo_(std::move(repo)),
      options_(options),
      folder_(path_join(options.cache, fmt::format("{}--{}", plural(kind), replaced(repo_.id, '/', "--")))) {}

std::string HubCache::snapshot(const std::string& commit) const {
  return path_join(path_join(folder_, "snapshots"), commit);
}

std::string HubCache::ref() const { return path_join(path_join(folder_, "refs"), repo_.revision); }
std::string HubCache::notes() const { return path_join(folder_, "bora-whole"); }

std::optional<std::string> HubCache::fixed_commit() const {
  auto commit = pinned(pin_name(kind_, repo_, options_), repo_.revision);
  if (is_hub_commit(commit)) return commit;
  return std::nullopt;
}

std::optional<std::string> HubCache::known_commit() const {
  if (auto fixed = fixed_commit()) return fixed;
  auto commit = exists(ref()) ? std::string(trim(read_text(ref()))) : "";
  if (is_hub_commit(commit)) return commit;
  return std::nullopt;
}

HubListing HubCache::ask() {
  const auto pin = pin_name(kind_, repo_, options_);
  const auto url = fmt::format("{}/api/{}/{}/revision/{}?blobs=true", options_.endpoint, plural(kind_),
                               repo_.id, replaced(pinned(pin, repo_.revision), '/', "%2F"));
  const auto shown = fmt::format("{}/api/{}/{}", options_.endpoint, plural(kind_), repo_.id);
  const auto json = parse_json(get(url, shown), shown);
  HubListing out{.commit = json_get<std::string>(json, "sha", shown), .files = {}};
  if (!is_hub_commit(out.commit))
    fail(ErrorKind::Corruption, "{}: says that its commit is \"{}\", which is none", shown, out.commit);
  for (const auto& file : json.value("siblings", Json::array())) {
    const auto name = json_get<std::string>(file, "rfilename", shown);
    if (!is_plain_path(name)) continue;
    const auto lfs = file.find("lfs");
    const bool large = lfs != file.end() && lfs->is_object();
    HubEntry entry{
        name,
        large ? json_get<std::string>(*lfs, "sha256", shown) : json_get<std::string>(file, "blobId", shown),
        json_get<std::int64_t>(large ? *lfs : file, "size", shown)};
    if (!is_hex(entry.etag, 40) && !is_sha256(entry.etag))
      fail(ErrorKind::Corruption, "{}: {} has the hash \"{}\", which is none", shown, name, entry.etag);
    out.files[name] = std::move(entry);
  }
  if (!is_hub_commit(repo_.revision)) {
    const std::lock_guard lock(pins().mutex);
    pins().commits[pin] = out.commit;
  }
  return out;
}

std::string HubCache::get(const std::string& url, const std::string& shown) const {
  for (int attempt = 1;; ++attempt) {
    try {
      return get_once(url, shown);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::Io || attempt == kTries) throw;
      sleep(options_.pause_seconds * (1 << (attempt - 1)));
    }
  }
}

std::string HubCache::get_once(const std::string& url, const std::string& shown) const {
  std::string body;
  const auto answer = http_get(
      {.url = url, .connect_seconds = 10, .allow_private = options_.allow_private, .bearer = options_.token},
      {[](const HttpAnswer& head) { return head.status == 200; },
       [&](std::span<const std::byte> bytes) {
         if (body.size() + bytes.size() > kLongestListing)
           fail(ErrorKind::Unsupported, "{}: answers with more than {} MiB", shown, kLongestListing >> 20);
         body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
       }});
  if (answer.status == 200) return body;
  if (answer.status == 401 || answer.status == 403 || answer.status == 404) {
    fail(ErrorKind::NotFound,
         "{}: the hub has no such {}, no revision {} of it, or {} (it says {})\n"
         "hint: check the name; for one that is private or asks for consent, set HF_TOKEN",
         repo_.id, one(kind_), repo_.revision,
         options_.token.empty() ? "shows it to those with a token" : "does not show it to this token",
         answer.status);
  }
  const bool may_pass = answer.status >= 500 || answer.status == 408 || answer.status == 429;
  fail(may_pass ? ErrorKind::Io : ErrorKind::Unsupported, "{}: the hub says {}", shown, answer.status);
}

void HubCache::fetch(const HubListing& listing, const std::vector<std::string>& names) {
  std::int64_t small = 0, bytes = 0;
  for (const auto& name : names) {
    const auto& entry = listing.files.at(name);
    if (entry.size > kToldFrom || exists(path_join(snapshot(listing.commit), name))) continue;
    ++small;
    bytes += entry.size;
  }
  if (small > 1)
    log_info("fetching {} files of {}, {}", small, repo_.id, human_bytes(static_cast<double>(bytes)));
  files().make_directories(snapshot(listing.commit));
  for (const auto& name : names) {
    const auto& entry = listing.files.at(name);
    std::optional<QuietDownloads> told;
    if (small > 1 || entry.size > kToldFrom) told.emplace();
    fetch_file(listing, entry);
  }
  sync_names(listing.commit, names);
}

// All of them, since those that were there already may be of a process that was killed before it came to this.
void HubCache::sync_names(const std::string& commit, const std::vector<std::string>& names) const {
  std::set<std::string> folders = {path_join(folder_, "blobs")};
  for (const auto& name : names) folders.insert(parent_path(path_join(snapshot(commit), name)));
  for (const auto& folder : folders)
    if (exists(folder)) files().sync_directory(folder);
}

void HubCache::fetch_file(const HubListing& listing, const HubEntry& entry) {
  const auto link = path_join(snapshot(listing.commit), entry.name);
  if (exists(link)) return;
  const auto blob = path_join(path_join(folder_, "blobs"), entry.etag);
  if (!exists(blob) || exists(parts_of(blob))) {
    const auto locks = path_join(path_join(options_.cache, ".locks"), base_name(folder_));
    files().make_directories(locks);
    const auto lock = wait_for_lock(path_join(locks, entry.etag + ".lock"), entry.name, repo_.id);
    if (!exists(blob)) fetch_blob(listing, entry, blob);
    remove_all(parts_of(blob));
  }
  files().make_directories(parent_path(link));
  std::string up = "../../";
  for (const char c : entry.name)
    if (c == '/') up += "../";
  try {
    link_to(up + "blobs/" + entry.etag, link);
  } catch (const Error& e) {
    if (exists(link)) return;  // another process has made it
    throw Error(e.kind(),
                fmt::format("{}\nhint: is there room, and has the file system of {} symbolic links? "
                            "HF_HUB_CACHE names another folder",
                            e.what(), options_.cache));
  }
}

void HubCache::fetch_blob(const HubListing& listing, const HubEntry& entry, const std::string& blob) {
  files().make_directories(parent_path(blob));
  const auto parts = parts_of(blob);
  if (entry.size > kToldFrom)
    log_info("fetching {} of {}, {}", entry.name, repo_.id, human_bytes(static_cast<double>(entry.size)));
  const auto url = fmt::format("{}{}/{}/resolve/{}/{}{}", options_.endpoint,
                               kind_ == HubKind::Model ? "" : "/datasets", repo_.id, listing.commit,
                               escaped(entry.name), is_sha256(entry.etag) ? "#sha256=" + entry.etag : "");
  const auto path = download(url, parts,
                             {.pause_seconds = options_.pause_seconds,
                              .max_bytes = options_.max_bytes,
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
}

// What belongs to something, which its folder does not show: other programs fetch single files.
std::string HubCache::note_path(const std::string& commit, const std::string& what) const {
  const bool plain = is_hub_word(what);
  return path_join(notes(), fmt::format("{}-{}", commit, plain ? what : hash128(what).hex()));
}

void HubCache::begin(const std::string& commit, const std::string& what,
                     const std::vector<std::string>& names) const {
  const auto path = begun_path(note_path(commit, what));
  files().make_directories(parent_path(path));
  write_atomically(path, Json(names).dump() + "\n");
}

void HubCache::note(const std::string& commit, const std::string& what,
                    const std::vector<std::string>& names) const {
  const auto path = note_path(commit, what);
  files().make_directories(parent_path(path));
  write_atomically(path, Json(names).dump() + "\n");
  remove_all(begun_path(path));
  if (is_hub_commit(repo_.revision)) return;
  files().make_directories(parent_path(ref()));
  write_atomically(ref(), commit);
}

std::optional<std::vector<std::string>> HubCache::noted(const std::string& commit,
                                                        const std::string& what) const {
  return names_in(note_path(commit, what));
}

std::optional<std::vector<std::string>> HubCache::begun(const std::string& commit,
                                                        const std::string& what) const {
  return names_in(begun_path(note_path(commit, what)));
}

std::vector<std::string> HubCache::missing(const std::string& commit,
                                           const std::vector<std::string>& names) const {
  std::vector<std::string> out;
  for (const auto& name : names)
    if (!exists(path_join(snapshot(commit), name))) out.push_back(name);
  return out;
}

}  // namespace bora::store
