// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
//   state.json := {"url": redacted, "size": n, "validator": string, "sha256": hex or "", "complete": bool,
//                  "boot": string}
//
// "boot" names the start of the system during which the bytes came: those of an earlier one may have been lost with
// the power, and zeros stand in their place. Only a checksum tells.
//
// Written before the first byte (size is -1 if the server does not say), and again when the file is complete.
#include "bora/store/download.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/hash.h"
#include "bora/base/json.h"
#include "bora/base/log.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/store/http_rules.h"
#include "bora/store/quiet_downloads.h"
#include "bora/store/sha256.h"

namespace bora::store {
namespace {

thread_local bool quiet = false;

constexpr std::string_view kFragment = "#sha256=";
constexpr double kLockSeconds = 0.1;

struct Address {
  std::string url, name, sha256;
};

Address parse_address(const std::string& text) {
  Address out{text.substr(0, text.find('#')), {}, {}};
  if (const auto at = text.find('#'); at != std::string::npos) {
    const std::string fragment = text.substr(at);
    out.sha256 = fragment.starts_with(kFragment) ? fragment.substr(kFragment.size()) : "";
    if (!is_sha256(out.sha256)) {
      fail(ErrorKind::Unsupported, "{}: what follows # should be sha256= and 64 hexadecimal digits",
           redact(text));
    }
  }
  const auto host = out.url.find("://") + 3;
  const auto path = out.url.find('/', host);
  const std::string server = out.url.substr(host, path - host);
  if (const auto at = server.find('@'); at != std::string::npos && server.substr(0, at) != "anonymous")
    fail(ErrorKind::Unsupported,
         "data files: a URL with a password in it is not fetched: it would be kept in run records");
  if (path != std::string::npos) {
    const std::string file = out.url.substr(path, out.url.find('?') - path);
    out.name = file.substr(file.rfind('/') + 1);
  }
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-+=%,").find(c) != std::string_view::npos;
  };
  if (out.name.empty() || out.name.front() == '.' || out.name.size() > 200 ||
      !std::all_of(out.name.begin(), out.name.end(), plain))
    fail(ErrorKind::Unsupported, "{}: ends in no plain file name", redact(text));
  return out;
}

struct State : Promise {
  bool complete = false;
  std::string boot = {};
};

// Empty where the system does not say.
std::string this_boot() {
  const std::string path = "/proc/sys/kernel/random/boot_id";
  return exists(path) ? std::string(trim(read_text(path))) : "";
}

class Download {
 public:
  Download(const std::string& given, const std::string& folder, const DownloadOptions& options,
           OriginOf origin_of)
      : address_(parse_address(given)),
        shown_(redact(address_.url)),
        options_(options),
        origin_of_(std::move(origin_of)),
        folder_(path_join(folder, hash128(without_credentials(address_.url)).hex())),
        path_(path_join(folder_, address_.name)),
        part_(path_ + ".part"),
        state_path_(path_join(folder_, "state.json")) {}

  AskedFile ask() {
    if (is_there()) return {.is_here = true, .size = state_.size};
    asks_ = true;
    const auto origin = origin_of_(address_.url);
    AskedFile out;
    trying(
        *origin, [] { return std::uint64_t{0}; },
        [&] {
          out.size = first_word(*origin);
          check_size(out.size, "");
        });
    return out;
  }

  std::string run() {
    if (is_there()) return path_;
    files().make_directories(folder_);
    const auto lock = wait_for_lock();
    if (is_there()) return path_;
    if (!QuietDownloads::wanted()) log_info("fetching {}", shown_);
    fetch();
    finish();
    return path_;
  }

 private:
  /// The workers of a run all want the file: one fetches it. A lock goes with its process.
  std::unique_ptr<FileLock> wait_for_lock() const {
    for (bool told = false;; told = true) {
      if (auto lock = files().try_lock(path_join(folder_, "lock"))) return lock;
      if (!told) log_info("waiting for another process that fetches {}", shown_);
      sleep(kLockSeconds);
    }
  }

  /// Whether a complete copy is there. One whose checksum is not the wanted one is not.
  bool is_there() {
    const auto info = files().info(path_);
    if (!info || !read_state() || !state_.complete) return false;
    if (static_cast<std::int64_t>(info->size) != state_.size) return false;
    if (!address_.sha256.empty() && address_.sha256 != state_.sha256) {
      fail(ErrorKind::Corruption, "{}: its SHA-256 is {} but {} is wanted\nhint: delete {} to fetch it again",
           path_, state_.sha256, address_.sha256, folder_);
    }
    return true;
  }

  bool read_state() {
    if (!exists(state_path_)) return false;
    try {
      const Json json = parse_json(read_text(state_path_), state_path_);
      state_.size = json_get<std::int64_t>(json, "size", state_path_);
      state_.validator = json_get<std::string>(json, "validator", state_path_);
      if (!is_header_value(state_.validator)) state_.validator.clear();
      state_.sha256 = json_get<std::string>(json, "sha256", state_path_);
      state_.complete = json_get<bool>(json, "complete", state_path_);
      state_.boot = json_get<std::string>(json, "boot", state_path_, "");
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::Corruption) throw;
      state_ = {};  // only a note about what can be fetched again
      return false;
    }
    return true;
  }

  void write_state() const {
    const Json json{{"url", shown_},           {"size", state_.size},         {"validator", state_.validator},
                    {"sha256", state_.sha256}, {"complete", state_.complete}, {"boot", state_.boot}};
    write_atomically(state_path_, json.dump(1) + "\n", Access::Owner);
  }

  /// Until the body is complete.
  void fetch() {
    const auto origin = origin_of_(address_.url);
    trying(*origin, [&] { return part_size(); }, [&] { request(*origin, part_size()); });
  }

  /// Again and again as long as that may help; what has come counts as a success.
  template <class Come, class Body>
  void trying(const Origin& origin, const Come& come, const Body& body) {
    int failures = 0;
    while (true) {
      const std::uint64_t before = come();
      try {
        return body();
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::Io || final_ || origin.is_final()) throw;
        failures = come() > before ? 1 : failures + 1;
        if (failures >= options_.tries && asks_) throw;
        if (failures >= options_.tries)
          throw Error(e.kind(),
                      fmt::format("{}\nhint: tried {} times; start again to go on", e.what(), failures));
        if (!asks_) log_warning("{}; trying again", e.what());  // who asks tells how it ended
        pause(failures);
      }
    }
  }

  // The size that is promised; then nobody listens any more.
  static std::int64_t first_word(Origin& origin) {
    struct Enough {};
    std::int64_t size = -1;
    try {
      origin.send(0, {},
                  {[&](std::uint64_t, const Promise& promise) {
                     size = promise.size;
                     throw Enough();
                   },
                   [](std::span<const std::byte>) {}});
    } catch (const Enough&) {  // it is there
    }
    return size;
  }

  void pause(int failures) const {
    sleep(options_.pause_seconds * static_cast<double>(1 << std::min(failures - 1, 6)));
  }

  static void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

  std::uint64_t part_size() const {
    const auto info = files().info(part_);
    return info ? info->size : 0;
  }

  /// Whether what has come is what was written, or finish() will see that it is not.
  bool is_intact() const {
    return !state_.sha256.empty() || (!state_.boot.empty() && state_.boot == this_boot());
  }

  void request(Origin& origin, std::uint64_t have) {
    if (have > 0 && (!read_state() || state_.validator.empty() || !is_intact()))
      have = 0;  // nobody knows of what it is a part
    if (have > 0 && static_cast<std::int64_t>(have) == state_.size) return;
    std::unique_ptr<WriteFile> out;
    std::uint64_t size = 0;
    const Origin::Receiver receiver{
        [&](std::uint64_t begin, const Promise& promise) {
          check_size(promise.size, "");
          size = begin;
          on_disk([&] { out = begin > 0 ? files().append(part_) : start_over(promise); });
        },
        [&](std::span<const std::byte> bytes) {
          size += bytes.size();
          check_size(static_cast<std::int64_t>(size), "at least ");
          on_disk([&] { out->write(bytes); });
        }};
    std::exception_ptr broken;
    bool is_wrong = false;
    auto sent = Origin::Sent::All;
    try {
      sent = origin.send(have, Promise(state_), receiver);
    } catch (const Error& e) {
      broken = std::current_exception();
      is_wrong = e.kind() != ErrorKind::Io && !final_;
    }
    if (out) on_disk([&] { close(*out); });  // what has come counts, also if the connection broke
    if (out && is_wrong) on_disk([&] { remove_all(part_); });  // but not if the server was wrong about it
    if (broken) std::rethrow_exception(broken);
    if (sent == Origin::Sent::Changed) {
      on_disk([&] { remove_all(part_); });
      fail(ErrorKind::Io, "{}: changed on the server while it was fetched", shown_);
    }
    const auto have_now = static_cast<std::int64_t>(part_size());
    if (state_.size >= 0 && have_now < state_.size)
      fail(ErrorKind::Io, "{}: ended after {} of {} bytes", shown_, have_now, state_.size);
    state_.size = have_now;
  }

  /// What is promised, and then what comes: a server may promise nothing, or less.
  void check_size(std::int64_t size, std::string_view more) const {
    if (size <= options_.max_bytes) return;
    fail(ErrorKind::Config,
         "{}: has {}{} bytes, but data.max_download is {}\nhint: a larger data.max_download, or fetch it "
         "yourself "
         "and give its path",
         shown_, more, with_commas(size), exact_bytes(options_.max_bytes));
  }

  std::unique_ptr<WriteFile> start_over(const Promise& promise) {
    state_ = {promise, false, this_boot()};
    if (!address_.sha256.empty()) state_.sha256 = address_.sha256;
    auto file = files().create(part_);
    write_state();
    return file;
  }

  /// An error of the disk is not one of the network.
  template <class Body>
  std::invoke_result_t<const Body&> on_disk(const Body& body) {
    try {
      return body();
    } catch (const Error&) {
      final_ = true;
      throw;
    }
  }

  /// All of it may have come to a process that was killed before it synced.
  void sync_part() const {
    const auto file = files().append(part_);
    close(*file);
  }

  static void close(WriteFile& file) {
    file.sync();
    file.close();
  }

  void finish() {
    Sha256 sha;
    const auto file = files().open(part_);
    std::vector<std::byte> buffer(1 << 20);
    for (std::uint64_t at = 0; at < file->size();) {
      const std::size_t n = file->read_at(at, buffer);
      if (n == 0) break;
      sha.update(std::span(buffer).first(n));
      at += n;
    }
    const std::string found = sha.finish();
    if (static_cast<std::int64_t>(file->size()) != state_.size ||
        (!state_.sha256.empty() && state_.sha256 != found)) {
      const std::string wanted = state_.sha256.empty() ? "" : " and SHA-256 " + state_.sha256;
      const std::uint64_t size = file->size();
      remove_all(part_);
      fail(ErrorKind::Corruption, "{}: came with {} bytes and SHA-256 {}, but {} bytes{} were promised",
           shown_, size, found, state_.size, wanted);
    }
    state_.sha256 = found;
    sync_part();
    files().rename(part_, path_);
    files().sync_directory(folder_);
    state_.complete = true;
    write_state();
  }

  Address address_;
  std::string shown_;  ///< its URL, for people
  DownloadOptions options_;
  OriginOf origin_of_;
  std::string folder_, path_, part_, state_path_;
  State state_;
  bool final_ = false;  // no use in trying again
  bool asks_ = false;   // and fetches nothing
};

}  // namespace

std::string download(const std::string& url, const std::string& folder, const DownloadOptions& options) {
  return download(url, folder, options,
                  [&](const std::string& address) { return http_origin(address, options); });
}

std::string download(const std::string& url, const std::string& folder, const DownloadOptions& options,
                     const OriginOf& origin_of) {
  return Download(url, folder, options, origin_of).run();
}

AskedFile ask_for(const std::string& url, const std::string& folder, const DownloadOptions& options,
                  const OriginOf& origin_of) {
  return Download(url, folder, options, origin_of).ask();
}

QuietDownloads::QuietDownloads() : before_(std::exchange(quiet, true)) {}
QuietDownloads::~QuietDownloads() { quiet = before_; }
bool QuietDownloads::wanted() { return quiet; }

}  // namespace bora::store
