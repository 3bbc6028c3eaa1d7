// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/store/download.h"
#include "bora/store/http_request.h"
#include "bora/store/http_rules.h"
#include "bora/store/origin.h"
#include "bora/store/sha256.h"

namespace bora::store {
namespace {

constexpr int kOk = 200, kPartial = 206, kNotFound = 404, kTimeout = 408, kGone = 410, kBadRange = 416,
              kTooMany = 429, kServerError = 500;

std::string header(const HttpAnswer& answer, const std::string& name) {
  const auto at = answer.headers.find(name);
  return at == answer.headers.end() ? "" : at->second;
}

/// "bytes 100-199/200"
bool begins_at(const HttpAnswer& answer, std::uint64_t have, std::int64_t size) {
  const std::string range = header(answer, "content-range");
  return range.starts_with(fmt::format("bytes {}-", have)) &&
         (size < 0 || range.ends_with(fmt::format("/{}", size)));
}

Promise promise_of(const HttpAnswer& answer) {
  Promise out{parse_int(header(answer, "content-length")).value_or(-1), header(answer, "etag"), {}};
  if (out.validator.empty() || out.validator.starts_with("W/"))
    out.validator = header(answer, "last-modified");
  if (!is_header_value(out.validator)) out.validator.clear();
  std::string linked = header(answer, "x-linked-etag");
  std::erase(linked, '"');
  if (is_sha256(linked)) out.sha256 = linked;
  return out;
}

class HttpOrigin final : public Origin {
 public:
  HttpOrigin(std::string url, const DownloadOptions& options) : url_(std::move(url)), options_(options) {}

  Sent send(std::uint64_t have, const Promise& known, const Receiver& receiver) override {
    bool wanted = false;
    const auto begin = [&](const HttpAnswer& answer) {
      if (answer.status == kPartial && have > 0 && begins_at(answer, have, known.size))
        receiver.begin(have, known);
      else if (answer.status == kOk)
        receiver.begin(0, promise_of(answer));
      else
        return false;
      return wanted = true;
    };
    const auto answer = http_get({.url = url_,
                                  .begin = have,
                                  .unchanged = have > 0 ? known.validator : "",
                                  .silent_seconds = options_.silent_seconds,
                                  .allow_private = options_.allow_private,
                                  .bearer = options_.bearer},
                                 {begin, receiver.bytes});
    if (wanted) return Sent::All;
    refuse(answer);
    return Sent::Changed;
  }

 private:
  void refuse(const HttpAnswer& answer) {
    const std::string url = redact(url_);
    if (answer.status == kNotFound || answer.status == kGone)
      fail(ErrorKind::NotFound, "{}: the server says {}: there is no such file", url, answer.status);
    if (answer.status == kPartial || answer.status == kBadRange) return;
    final_ = answer.status < kServerError && answer.status != kTimeout && answer.status != kTooMany;
    fail(ErrorKind::Io, "{}: the server says {}{}", url, answer.status,
         answer.status == 401 || answer.status == 403
             ? ": not allowed\nhint: fetch it yourself and give its path"
             : "");
  }

  std::string url_;
  DownloadOptions options_;
};

}  // namespace

std::unique_ptr<Origin> http_origin(const std::string& url, const DownloadOptions& options) {
  return std::make_unique<HttpOrigin>(url, options);
}

}  // namespace bora::store
