// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bora::store {

/// What a server answered, after redirections.
struct HttpAnswer {
  int status = 0;  ///< 200, 404, ...
  /// Names in lower case, of the last server; of those that pointed to it, what begins with x-linked-. A
  /// content-length is a number, and is not there beside a transfer-encoding, which overrules it.
  std::map<std::string, std::string> headers;
};

/// What goes to the server behind a request.
struct HttpBody {
  std::uint64_t size = 0;
  /// Fills `out` with what begins at `offset`.
  std::function<void(std::uint64_t offset, std::span<std::byte> out)> read;
};

struct HttpRequest {
  std::string url;
  std::uint64_t begin = 0;  ///< from which byte on, if the server can
  std::string unchanged;    ///< only if this ETag (or date) still holds; else everything comes
  double connect_seconds = 30;
  double silent_seconds = 60;  ///< with less than 100 bytes each
  bool allow_private = false;  ///< also addresses that are not of the public network (http_rules.h)
  std::string bearer;          ///< a token for the server of the URL alone; one that it points to gets none
  std::vector<std::string> headers = {};  ///< further ones, whole lines, for that server alone
};

/// Sees the answer before its body; false: nobody wants the body. Then the body in pieces.
struct HttpReceiver {
  std::function<bool(const HttpAnswer&)> begin;
  std::function<void(std::span<const std::byte>)> body;
};

/// Sends a GET over http or https, following at most 10 redirections, which may lead from http to https but
/// not back, with the system's certificates; reads no .netrc and sends no password. Each server's address is
/// looked at when it is connected to, so that a name cannot come to mean another one; a proxy of the
/// environment may be anywhere, and what it is asked for is looked at by its name. What the receiver throws
/// comes back.
///
/// Errors: Io for the network, where the caller may try again (no connection, a connection that breaks, a
/// server that falls silent, a body shorter than its Content-Length); Config for an address that is not
/// public; Unsupported for what stays wrong (certificates, redirections, a body longer than its
/// Content-Length, headers of more than 256 KiB, URLs that libcurl does not read) and without libcurl, which
/// is loaded with the first request.
HttpAnswer http_get(const HttpRequest& request, const HttpReceiver& receiver);

/// The same for POST and PUT, with a body. A server that points elsewhere is an error: Unsupported.
HttpAnswer http_send(std::string_view method, const HttpRequest& request, const HttpBody& body,
                     const HttpReceiver& receiver);

}  // namespace bora::store
