// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bora::store {

/// Where a URL of a configuration may lead, and what of a server's answer is believed.

/// Which network an address ("10.0.0.1", "::1", "fe80::1%eth0") belongs to, if it is not the public one:
/// "this machine", "a private network", ... Nothing for a public address, and for what is none. The IPv4
/// address in an IPv6 one (mapped, 6to4, NAT64) counts as itself.
std::optional<std::string_view> closed_network(std::string_view address);

/// The error for a host that is not asked. `url` is shown redacted.
[[noreturn]] void refuse_address(std::string_view url, std::string_view address);

/// Looks up `host` ("name", "name:9000", "http://[::1]:9000") and refuses it if one of its addresses is not
/// public; a name that nobody knows passes. For libraries that connect by themselves.
void require_public(std::string_view url, std::string_view host);

/// Whether `address` and `port` are those of `proxy`, as the environment names it.
bool is_address_of(const std::string& proxy, std::string_view address, int port);

/// Errors: Unsupported for a redirection from https to anything else, or to what is neither http nor https.
void check_redirection(std::string_view from, std::string_view to);

/// Whether a transfer that ended with this code of libcurl's (CURLcode) may end well another time: connections
/// that fail or break may. A certificate that does not hold, and whatever else, will not.
bool may_pass(int code);

/// A header's value that may be sent back: visible characters and spaces, not too many.
bool is_header_value(std::string_view text);

/// The value of a Content-Length; nothing unless it is digits alone that fit.
std::optional<std::int64_t> parse_content_length(std::string_view text);

}  // namespace bora::store
