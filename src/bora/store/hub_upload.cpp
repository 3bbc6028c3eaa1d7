// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The requests are those of https://huggingface.co/docs/hub/api and of the batch API of Git LFS
// (https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md), with the hub's own transfer in parts.
#include "bora/store/hub_upload.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/log.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/store/http_request.h"
#include "bora/store/sha256.h"

namespace bora::store {
namespace {

constexpr int kSendTries = 4;
constexpr std::size_t kLongestAnswer = 16 << 20, kSample = 512, kAtOnce = 256;
constexpr double kSendingToldFrom = 10e6;  // bytes of a file that is named while it is sent
constexpr std::string_view kJsonType = "application/json", kLines = "application/x-ndjson",
                           kLfs = "application/vnd.git-lfs+json";

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8 | (k < n ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= n ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

// "https://host:port"
std::string_view origin_of(std::string_view url) {
  const auto host = url.find("://");
  return host == url.npos ? url : url.substr(0, url.find_first_of("/?#", host + 3));
}

std::string escaped_revision(const std::string& revision) {
  std::string out;
  for (const char c : revision) c == '/' ? out += "%2F" : out += c;
  return out;
}

struct Answer {
  int status = 0;
  std::string body, etag;

  bool good() const { return status >= 200 && status < 300; }
  bool may_pass() const { return status >= 500 || status == 408 || status == 429; }
  // What the server says of an error. It may say back the token that it was sent.
  std::string words(const std::string& token) const {
    const auto json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
    auto text = json.is_object() && json.contains("error") ? json["error"].dump() : body;
    for (std::size_t at = 0; !token.empty() && (at = text.find(token, at)) != text.npos;)
      text.replace(at, token.size(), kLeftOut);
    return redact(text.substr(0, 300));
  }
};

std::string text(const Json& object, const char* key, const std::string& otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

// A file that is sent, unchanged since it was listed.
class FileSource {
 public:
  explicit FileSource(const HubFile& file) : file_(file), open_(files().open(file.path)) {
    if (open_->size() != file.size) changed();
  }
  void read(std::uint64_t offset, std::span<std::byte> out) const {
    if (open_->read_at(offset, out) != out.size()) changed();
  }
  std::vector<std::byte> part(std::uint64_t offset, std::uint64_t size) const {
    std::vector<std::byte> out(static_cast<std::size_t>(size));
    read(offset, out);
    return out;
  }
  std::string sha256() const {
    Sha256 sha;
    constexpr std::uint64_t kPiece = 4 << 20;
    for (std::uint64_t at = 0; at < file_.size; at += kPiece)
      sha.update(part(at, std::min(kPiece, file_.size - at)));
    return sha.finish();
  }

 private:
  [[noreturn]] void changed() const {
    fail(ErrorKind::Corruption, "{}: is no longer the {} bytes that it was\nhint: upload it again",
         file_.path, file_.size);
  }
  const HubFile& file_;
  std::unique_ptr<ReadFile> open_;
};

class Uploader {
 public:
  Uploader(const HubUpload& upload, const HubOptions& options)
      : upload_(upload), options_(options), branch_(escaped_revision(upload.repo.revision)) {}

  HubCommit run() {
    HubCommit out{.made_repository = make_repository()};
    if (upload_.repo.revision != "main") make_branch();
    const auto modes = modes_of_files();
    std::string lines = line("header", {{"summary", upload_.message}, {"description", ""}});
    for (const auto& file : upload_.files) {
      const auto mode = modes.find(file.name);
      if (mode == modes.end()) {
        log_warning("{}: the repository's .gitignore leaves {} out", upload_.repo.id, file.name);
        continue;
      }
      lines += file.size > 0 && mode->second == "lfs" ? large(file, out) : small(file);
    }
    const auto json = ask("POST", api("commit/" + branch_), lines, kLines, "the commit");
    out.url = text(json, "commitUrl", fmt::format("{}/{}", options_.endpoint, upload_.repo.id));
    return out;
  }

 private:
  std::string api(const std::string& what) const {
    return fmt::format("{}/api/models/{}/{}", options_.endpoint, upload_.repo.id, what);
  }
  static std::string line(std::string_view key, const Json& value) {
    return Json{{"key", key}, {"value", value}}.dump() + "\n";
  }

  bool make_repository() {
    const auto slash = upload_.repo.id.find('/');
    const Json wanted = {{"name", upload_.repo.id.substr(slash + 1)},
                         {"organization", upload_.repo.id.substr(0, slash)},
                         {"private", upload_.is_private}};
    const auto answer = send("POST", options_.endpoint + "/api/repos/create", wanted.dump(), kJsonType);
    if (answer.good()) return true;
    if (answer.status == 409) return false;  // it is there
    // Who may write to a repository that is there, but make none, learns what is wrong from the next request.
    if (answer.status != 401 && answer.status != 403) refuse(answer, "the repository");
    return false;
  }
  void make_branch() {
    const auto answer = send("POST", api("branch/" + branch_), "{}", kJsonType);
    if (!answer.good() && answer.status != 409 && answer.status != 403) refuse(answer, "the branch");
  }

  // "lfs" or "regular", by name; without those that the repository ignores.
  std::map<std::string, std::string> modes_of_files() {
    std::map<std::string, std::string> out;
    for (std::size_t first = 0; first < upload_.files.size(); first += kAtOnce) {
      Json listed = Json::array();
      for (std::size_t i = first; i < std::min(upload_.files.size(), first + kAtOnce); ++i) {
        const auto& file = upload_.files[i];
        const auto sample = FileSource(file).part(0, std::min<std::uint64_t>(kSample, file.size));
        listed.push_back({{"path", file.name}, {"size", file.size}, {"sample", base64(sample)}});
      }
      const auto url = api("preupload/" + branch_);
      const auto json = ask("POST", url, Json{{"files", listed}}.dump(), kJsonType, "the list of files");
      for (const auto& file : json.value("files", Json::array()))
        if (!file.value("shouldIgnore", false))
          out[json_get<std::string>(file, "path", url)] = json_get<std::string>(file, "uploadMode", url);
    }
    return out;
  }

  static std::string small(const HubFile& file) {
    const auto content = base64(FileSource(file).part(0, file.size));
    return line("file", {{"content", content}, {"path", file.name}, {"encoding", "base64"}});
  }

  std::string large(const HubFile& file, HubCommit& out) {
    const FileSource source(file);
    const auto oid = source.sha256();
    const auto url = fmt::format("{}/{}.git/info/lfs/objects/batch", options_.endpoint, upload_.repo.id);
    const Json wanted = {{"operation", "upload"},
                         {"transfers", {"basic", "multipart"}},
                         {"objects", {{{"oid", oid}, {"size", file.size}}}},
                         {"hash_algo", "sha256"},
                         {"ref", {{"name", upload_.repo.revision}}}};
    const auto json = ask("POST", url, wanted.dump(), kLfs, file.name);
    const auto transfer = text(json, "transfer", "basic");
    if (transfer != "basic" && transfer != "multipart")
      fail(ErrorKind::Unsupported,
           "{}: the hub takes {} by \"{}\" alone, which Bora does not speak\nhint: hf upload {} DIRECTORY",
           upload_.repo.id, file.name, transfer, upload_.repo.id);
    const auto objects = json.value("objects", Json::array());
    if (objects.size() != 1 || text(objects[0], "oid", "") != oid)
      fail(ErrorKind::Corruption, "{}: does not answer for {}", url, file.name);
    if (const auto error = objects[0].find("error"); error != objects[0].end())
      fail(ErrorKind::Unsupported, "{}: the hub does not take {}: {}", upload_.repo.id, file.name,
           redact(text(*error, "message", error->dump())));
    const auto actions = objects[0].find("actions");
    if (actions != objects[0].end() && actions->is_object()) {  // else it is there
      if (static_cast<double>(file.size) >= kSendingToldFrom)
        log_info("sending {} to {}, {}", file.name, upload_.repo.id,
                 human_bytes(static_cast<double>(file.size)));
      put(source, file, oid, actions->value("upload", Json::object()));
      out.sent += file.size;
      if (const auto verify = actions->find("verify"); verify != actions->end() && verify->is_object())
        ask("POST", json_get<std::string>(*verify, "href", url),
            Json{{"oid", oid}, {"size", file.size}}.dump(), kJsonType, file.name);
    }
    return line("lfsFile", {{"path", file.name}, {"algo", "sha256"}, {"oid", oid}, {"size", file.size}});
  }

  void put(const FileSource& source, const HubFile& file, const std::string& oid, const Json& action) {
    const auto href = json_get<std::string>(action, "href", file.name);
    const auto header = action.value("header", Json::object());
    if (!header.contains("chunk_size")) {
      put_part(source, file, 0, file.size, href);
      return;
    }
    const auto& stated = header["chunk_size"];
    const auto chunk = parse_int(stated.is_string() ? stated.get<std::string>() : stated.dump()).value_or(0);
    const auto count =
        chunk > 0 ? (file.size + static_cast<std::uint64_t>(chunk) - 1) / static_cast<std::uint64_t>(chunk)
                  : 0;
    Json parts = Json::array();
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto number = std::to_string(i + 1), padded = fmt::format("{:05}", i + 1);
      const auto place = header.contains(number) ? header.find(number) : header.find(padded);
      if (place == header.end() || !place->is_string()) break;
      const auto from = i * static_cast<std::uint64_t>(chunk);
      const auto etag =
          put_part(source, file, from, std::min(static_cast<std::uint64_t>(chunk), file.size - from),
                   place->get<std::string>());
      parts.push_back({{"partNumber", i + 1}, {"etag", etag}});
    }
    if (count == 0 || parts.size() != count)
      fail(ErrorKind::Unsupported,
           "{}: the hub wants {} in {} parts of {} bytes, and names {} places for them", upload_.repo.id,
           file.name, count, stated.dump(), parts.size());
    ask("POST", href, Json{{"oid", oid}, {"parts", parts}}.dump(), kLfs, file.name);
  }

  std::string put_part(const FileSource& source, const HubFile& file, std::uint64_t from, std::uint64_t size,
                       const std::string& href) {
    const HttpBody body{
        size, [&](std::uint64_t offset, std::span<std::byte> out) { source.read(from + offset, out); }};
    const auto answer = send("PUT", href, body, /*type=*/"");  // what storage has signed has none
    if (!answer.good()) refuse(answer, file.name);
    return answer.etag;
  }

  Json ask(std::string_view method, const std::string& url, const std::string& body, std::string_view type,
           std::string_view what) {
    const auto answer = send(method, url, body, type);
    if (!answer.good()) refuse(answer, what);
    auto json = Json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
    return json.is_object() ? json : Json::object();
  }
  Answer send(std::string_view method, const std::string& url, const std::string& text,
              std::string_view type) {
    const HttpBody body{text.size(), [&](std::uint64_t offset, std::span<std::byte> out) {
                          const auto part =
                              as_bytes(text).subspan(static_cast<std::size_t>(offset), out.size());
                          std::copy(part.begin(), part.end(), out.begin());
                        }};
    return send(method, url, body, type);
  }
  // What may pass is tried again.
  Answer send(std::string_view method, const std::string& url, const HttpBody& body, std::string_view type) {
    for (int attempt = 1;; ++attempt) {
      try {
        auto answer = send_once(method, url, body, type);
        if (!answer.may_pass() || attempt == kSendTries) return answer;
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::Io || attempt == kSendTries) throw;
      }
      std::this_thread::sleep_for(
          std::chrono::duration<double>(options_.pause_seconds * (1 << (attempt - 1))));
    }
  }
  Answer send_once(std::string_view method, const std::string& url, const HttpBody& body,
                   std::string_view type) const {
    const bool ours = origin_of(url) == origin_of(options_.endpoint);
    Answer out;
    std::vector<std::string> headers = {fmt::format("Accept: {}", type == kLfs ? kLfs : kJsonType)};
    if (!type.empty()) headers.push_back(fmt::format("Content-Type: {}", type));
    const auto head = http_send(method,
                                {.url = url,
                                 .connect_seconds = 10,
                                 .allow_private = options_.allow_private,
                                 .bearer = ours ? options_.token : "",
                                 .headers = headers},
                                body,
                                {[](const HttpAnswer&) { return true; },
                                 [&](std::span<const std::byte> bytes) {
                                   if (out.body.size() + bytes.size() > kLongestAnswer)
                                     fail(ErrorKind::Unsupported, "{}: answers with more than {} MiB",
                                          redact(url), kLongestAnswer >> 20);
                                   out.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                                 }});
    out.status = head.status;
    if (const auto etag = head.headers.find("etag"); etag != head.headers.end()) out.etag = etag->second;
    return out;
  }

  [[noreturn]] void refuse(const Answer& answer, std::string_view what) const {
    if (answer.status == 401 || answer.status == 403 || answer.status == 404)
      fail(ErrorKind::NotFound,
           "{}: the hub does not let this token write there ({}; it says {}: {})\n"
           "hint: a token with the right to write, in HF_TOKEN; the owner is a user or an organization of it",
           upload_.repo.id, what, answer.status, answer.words(options_.token));
    fail(answer.may_pass() ? ErrorKind::Io : ErrorKind::Unsupported,
         "{}: the hub refuses {} and says {}: {}{}", upload_.repo.id, what, answer.status,
         answer.words(options_.token),
         answer.may_pass() ? "\nhint: run it again; large files that have arrived are not sent again" : "");
  }

  const HubUpload& upload_;
  const HubOptions& options_;
  std::string branch_;
};

void add_folder(const std::string& path, const std::string& prefix, std::vector<HubFile>& out) {
  for (const auto& name : files().list(path)) {
    if (name == ".git" || name == ".lock") continue;
    const auto inner = path_join(path, name);
    const auto info = files().info(inner);
    if (info && info->is_directory)
      add_folder(inner, prefix + name + "/", out);
    else if (info)
      out.push_back({inner, prefix + name, static_cast<std::uint64_t>(info->size)});
  }
}

}  // namespace

std::vector<HubFile> files_to_upload(const std::string& path) {
  const auto info = files().info(path);
  if (!info) fail(ErrorKind::NotFound, "{} does not exist", path);
  std::vector<HubFile> out;
  if (info->is_directory)
    add_folder(path, "", out);
  else
    out.push_back({path, base_name(path), static_cast<std::uint64_t>(info->size)});
  if (out.empty()) fail(ErrorKind::NotFound, "{} holds no file", path);
  for (const auto& file : out)
    if (Json(file.name).dump(-1, ' ', false, Json::error_handler_t::replace) != '"' + file.name + '"')
      fail(ErrorKind::Unsupported, "{}: a name that a repository cannot have\nhint: rename it", file.path);
  return out;
}

std::string describe(const HubUpload& upload, const HubOptions& options) {
  std::uint64_t all = 0;
  std::string lines;
  for (const auto& file : upload.files) {
    all += file.size;
    lines += fmt::format("  {:<44} {}\n", file.name, human_bytes(static_cast<double>(file.size)));
  }
  return fmt::format("{}/{}, branch {}, {} if it has to be made, \"{}\":\n{}{} file{}, {}\n",
                     options.endpoint, upload.repo.id, upload.repo.revision,
                     upload.is_private ? "private" : "public", upload.message, lines, upload.files.size(),
                     upload.files.size() == 1 ? "" : "s", human_bytes(static_cast<double>(all)));
}

void require_upload(const HubRepo& repo, const HubOptions& options) {
  if (options.offline)
    fail(ErrorKind::Config,
         "{}: HF_HUB_OFFLINE is set, and an upload needs the hub\nhint: unset it, or export without --push",
         repo.id);
  if (options.token.empty())
    fail(
        ErrorKind::Config,
        "{}: an upload needs a token that may write there\nhint: HF_TOKEN, or the file that `hf auth login` writes",
        repo.id);
  if (repo.id.find('/') == repo.id.npos)
    fail(ErrorKind::Config, "{}: names no owner\nhint: owner/{}", repo.id, repo.id);
}

HubCommit upload_to_hub(const HubUpload& upload, const HubOptions& options) {
  require_upload(upload.repo, options);
  return Uploader(upload, options).run();
}

}  // namespace bora::store
