// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/http_rules.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"

namespace bora::store {
namespace {

constexpr std::string_view kThisMachine = "this machine", kPrivate = "a private network",
                           kLink = "the link of this machine, where services tell credentials",
                           kProvider = "a provider's own network", kNobody = "no single public host";

struct Network {
  std::array<std::uint8_t, 16> prefix;
  int bits;
  std::string_view name;
};

// https://www.iana.org/assignments/iana-ipv4-special-registry
constexpr Network kNetworks4[] = {
    {{0}, 8, kThisMachine},     {{10}, 8, kPrivate},        {{100, 64}, 10, kProvider},
    {{127}, 8, kThisMachine},   {{169, 254}, 16, kLink},    {{172, 16}, 12, kPrivate},
    {{192, 0, 0}, 24, kNobody}, {{192, 168}, 16, kPrivate}, {{198, 18}, 15, kPrivate},
    {{224}, 4, kNobody},        {{240}, 4, kNobody},
};

// https://www.iana.org/assignments/iana-ipv6-special-registry
constexpr Network kNetworks6[] = {
    {{0xFC}, 7, kPrivate},        {{0xFE, 0x80}, 10, kLink},
    {{0xFE, 0xC0}, 10, kPrivate}, {{0x01, 0x00}, 64, kNobody},
    {{0xFF}, 8, kNobody},         {{0x00, 0x64, 0xFF, 0x9B, 0x00, 0x01}, 48, kPrivate},
};

// IPv6 addresses that stand for the IPv4 one at some byte: IPv4-compatible and mapped, NAT64, 6to4.
struct Embedding {
  std::array<std::uint8_t, 16> prefix;
  int bits;
  std::size_t at;
};
constexpr Embedding kEmbeddings[] = {
    {{0}, 96, 12},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}, 96, 12},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}, 96, 12},
    {{0x00, 0x64, 0xFF, 0x9B}, 96, 12},
    {{0x20, 0x02}, 16, 2},
};

bool begins_with(const std::array<std::uint8_t, 16>& address, const std::array<std::uint8_t, 16>& prefix,
                 int bits) {
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (!std::equal(prefix.begin(), prefix.begin() + whole, address.begin())) return false;
  const int rest = bits % 8;
  const int mask = 0xFF00 >> rest & 0xFF;
  return rest == 0 || ((address[whole] ^ prefix[whole]) & mask) == 0;
}

std::optional<std::string_view> closed4(const std::array<std::uint8_t, 16>& address) {
  for (const auto& [prefix, bits, name] : kNetworks4) {
    if (begins_with(address, prefix, bits)) return name;
  }
  return {};
}

std::optional<std::string_view> closed6(const std::array<std::uint8_t, 16>& address) {
  for (const auto& [prefix, bits, at] : kEmbeddings) {
    if (!begins_with(address, prefix, bits)) continue;
    std::array<std::uint8_t, 16> inner{};
    std::copy_n(address.begin() + static_cast<std::ptrdiff_t>(at), 4, inner.begin());
    return closed4(inner);  // :: and ::1 are 0.0.0.0 and 0.0.0.1 of this machine
  }
  for (const auto& [prefix, bits, name] : kNetworks6) {
    if (begins_with(address, prefix, bits)) return name;
  }
  return {};
}

struct HostPort {
  std::string host, port;
};

/// Of "scheme://name:password@[::1]:80/path", of which only the host must be there.
HostPort parse_host(std::string_view text) {
  if (const auto scheme = text.find("://"); scheme != std::string_view::npos) text.remove_prefix(scheme + 3);
  text = text.substr(0, text.find_first_of("/?#"));
  if (const auto at = text.rfind('@'); at != std::string_view::npos) text.remove_prefix(at + 1);
  if (text.starts_with('[')) {
    const auto end = std::min(text.find(']'), text.size());
    const auto rest = text.substr(std::min(end + 1, text.size()));
    return {std::string(text.substr(1, end - 1)),
            std::string(rest.starts_with(':') ? rest.substr(1) : std::string_view())};
  }
  const auto colon = text.find(':');
  const bool only_host =
      colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos;
  if (only_host) return {std::string(text), ""};
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

std::vector<std::string> addresses_of(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  std::vector<std::string> out;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) ==
        0)
      out.emplace_back(text.data());
  }
  return out;
}

std::string scheme_of(std::string_view url) { return ascii_lower(url.substr(0, url.find("://"))); }

}  // namespace

std::optional<std::string_view> closed_network(std::string_view address) {
  const std::string text(address.substr(0, address.find('%')));
  std::array<std::uint8_t, 16> bytes{};
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return closed4(bytes);
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return closed6(bytes);
  return {};
}

void refuse_address(std::string_view url, std::string_view address) {
  fail(ErrorKind::Config,
       "{}: leads to {}, an address of {}, and was not asked\nhint: data.allow_private_addresses: true (of "
       "train-tokenizer: --allow_private_addresses) if that is meant",
       redact(url), address, closed_network(address).value_or(kThisMachine));
}

void require_public(std::string_view url, std::string_view host) {
  for (const auto& address : addresses_of(parse_host(host).host)) {
    if (closed_network(address)) refuse_address(url, address);
  }
}

bool is_address_of(const std::string& proxy, std::string_view address, int port) {
  const auto [host, proxy_port] = parse_host(proxy);
  if (!proxy_port.empty() && parse_int(proxy_port) != port) return false;
  const auto addresses = addresses_of(host);
  return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

void check_redirection(std::string_view from, std::string_view to) {
  const std::string before = scheme_of(from), after = scheme_of(to);
  if (after == "https" || (after == "http" && before == "http")) return;
  fail(ErrorKind::Unsupported,
       "{}: the server points to {}, and Bora goes from {} to {} only\nhint: fetch it yourself and give its "
       "path",
       redact(from), redact(to), before, before == "http" ? "http or https" : "https");
}

bool is_header_value(std::string_view text) {
  constexpr std::size_t kLongest = 1024;
  return text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

std::optional<std::int64_t> parse_content_length(std::string_view text) {
  const auto value = parse_int(text);
  return value && *value >= 0 && !text.starts_with('-') ? value : std::nullopt;
}

bool may_pass(int code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:  // also a reset in the middle of it
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
      return true;
    default:
      return false;
  }
}

}  // namespace bora::store
