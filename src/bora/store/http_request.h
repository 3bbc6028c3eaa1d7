// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace bora::store {

/// What a server answered, after redirections.
struct HttpAnswer {
  int status = 0;  ///< 200, 404, ...
  /// Names in lower case, of the last server; of those that pointed to it, what begins with x-linked-.
  std::map<std::string, std::string> headers;
};

struct HttpRequest {
  std::string url;
  std::uint64_t begin = 0;  ///< from which byte on, if the server can
  std::string unchanged;    ///< only if this ETag (or date) still holds; else everything comes
  double connect_seconds = 30;
  double silent_seconds = 60;  ///< without a byte
};

/// Sees the answer before its body; false: nobody wants the body. Then the body in pieces.
struct HttpReceiver {
  std::function<bool(const HttpAnswer&)> begin;
  std::function<void(std::span<const std::byte>)> body;
};

/// Sends a GET over http or https, following at most 10 redirections, with the system's certificates; reads
/// no .netrc and sends no password. What the receiver throws comes back. Errors: Io for the network (the
/// caller may try again); Unsupported without libcurl, which is loaded with the first request.
HttpAnswer http_get(const HttpRequest& request, const HttpReceiver& receiver);

}  // namespace bora::store
