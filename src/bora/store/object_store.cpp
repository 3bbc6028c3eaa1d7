// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/object_store.h"

#include <algorithm>
#include <charconv>

#include "bora/base/error.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/store/arrow_plugin.h"
#include "bora/store/format.h"
#include "bora/store/http_rules.h"
#include "bora/store/urls.h"

namespace bora::store {
namespace {

/// scheme://bucket/key?options#checksum
struct ObjectUrl {
  std::string store;  // scheme://bucket
  std::string key;    // "" or a/b.jsonl
  std::string rest;   // ?options#checksum, or a part of that

  std::string with(const std::string& other) const { return store + "/" + other + rest; }
  std::string path() const {
    const std::string bucket = store.substr(store.find("://") + 3);
    return bucket.substr(bucket.find('@') + 1) + "/" + key;
  }
  std::string bucket() const { return path().substr(0, path().find('/')); }
};

ObjectUrl parse(const std::string& url) {
  ObjectUrl out;
  const auto end = std::min(url.find_first_of("?#"), url.size());
  const auto slash = std::min(url.find('/', url.find("://") + 3), end);
  out.store = url.substr(0, slash);
  out.key = slash < end ? url.substr(slash + 1, end - slash - 1) : "";
  out.rest = url.substr(end);
  if (out.bucket().empty()) fail(ErrorKind::Config, "data files: {} names no bucket", redact(url));
  return out;
}

std::vector<std::string> key_parts(const std::string& key) {
  auto parts = split(key, '/');
  std::erase_if(parts, [](const std::string& part) { return part.empty(); });
  return parts;
}

using Parts = std::span<const std::string>;

bool is_magic(const std::string& part) { return part.find_first_of("*[") != std::string::npos; }

/// %3A is a colon.
std::string without_escapes(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    int value = 0;
    const auto digits = text.substr(at + 1, 2);
    const bool is_escape =
        text[at] == '%' && digits.size() == 2 &&
        std::from_chars(digits.data(), digits.data() + 2, value, 16).ptr == digits.data() + 2;
    out += is_escape ? static_cast<char>(value) : text[at];
    if (is_escape) at += 2;
  }
  return out;
}

/// A server that the URL itself names; Arrow connects to it.
void check_endpoint(const std::string& url, const DownloadOptions& options) {
  if (options.allow_private) return;
  const std::string rest = parse(url).rest;
  constexpr std::string_view kEndpoint = "endpoint_override=";
  for (const auto& option :
       split(rest.substr(std::min<std::size_t>(1, rest.size()), rest.find('#') - 1), '&')) {
    const std::string plain = without_escapes(option);
    if (plain.starts_with(kEndpoint)) require_public(url, plain.substr(kEndpoint.size()));
  }
}

class ObjectOrigin final : public Origin {
 public:
  explicit ObjectOrigin(const std::string& url) : url_(url) {}

  Sent send(std::uint64_t have, const Promise& known, const Receiver& receiver) override {
    final_ = true;  // what is wrong before the first byte is wrong for good: Arrow has tried again itself
    const auto store = open_object_store(url_);
    const auto object = store->look_up(parse(url_).path());
    if (!object) fail(ErrorKind::NotFound, "{}: there is no such object", redact(url_));
    const Promise promise{object->size, fmt::format("{}-{}", object->size, object->changed), {}};
    if (have > 0 && promise.validator != known.validator) return Sent::Changed;
    receiver.begin(have, promise);
    final_ = false;
    store->read(*object, have, receiver.bytes);
    return Sent::All;
  }

 private:
  std::string url_;
};

}  // namespace

bool is_object_scheme(std::string_view scheme) { return scheme == "s3" || scheme == "gs"; }

std::unique_ptr<ObjectStore> open_object_store(const std::string& url, const std::string& library) {
  const ObjectUrl address = parse(url);
  const std::string options = address.rest.substr(0, address.rest.find('#'));
  const auto plugin = arrow_plugin(
      {redact(url), "reading s3:// and gs://", "or fetch the files and give their paths"}, library);
  return open_with_plugin<ObjectStore>(plugin, "bora_arrow_open_store", address.store + options);
}

std::vector<std::string> object_urls(const std::string& url, const DownloadOptions& options) {
  check_endpoint(url, options);
  const ObjectUrl address = parse(url);
  const auto parts = key_parts(address.key);
  const auto first = std::find_if(parts.begin(), parts.end(), is_magic);
  const bool has_magic = first != parts.end();
  if (!has_magic && !parts.empty() && is_data_file(parts.back())) return {url};
  std::string folder = address.bucket();
  for (auto part = parts.begin(); part != first; ++part) folder += "/" + *part;
  const std::size_t bucket = address.bucket().size() + 1;
  std::vector<std::string> out;
  for (const auto& object : open_object_store(url)->list(folder)) {
    const std::string key = object.path.substr(std::min(bucket, object.path.size()));
    const auto name = key_parts(key);
    const std::vector<std::string> everything = {"**"};
    const Parts below = Parts(name).subspan(std::min<std::size_t>(name.size(), first - parts.begin()));
    const bool wanted = has_magic ? glob_match_path(Parts(first, parts.end()), below)
                                  : glob_match_path(everything, below) && is_data_file(key);
    if (wanted) out.push_back(address.with(key));
  }
  if (!out.empty()) return out;
  fail(ErrorKind::NotFound, "data files: no object matches \"{}\"\nhint: {}", redact(url),
       has_magic ? fmt::format("look at what is below {}/", folder)
                 : "a folder of the bucket that holds data files, or an object's whole name");
}

bool can_open_object_stores() { return Plugin::is_there("libbora_arrow.so"); }

std::unique_ptr<Origin> object_origin(const std::string& url) { return std::make_unique<ObjectOrigin>(url); }

std::string download_object(const std::string& url, const std::string& folder,
                            const DownloadOptions& options) {
  check_endpoint(url, options);
  return download(url, folder, options, object_origin);
}

}  // namespace bora::store
