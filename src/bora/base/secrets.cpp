// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/secrets.h"

#include <algorithm>
#include <array>
#include <vector>

#include "bora/base/env.h"
#include "bora/base/text.h"

namespace bora {
namespace {

constexpr std::string_view kAfterScheme = "://";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A URL of a text, from behind "://" on.
struct Found {
  std::string_view authority;  ///< user:password@host:port
  std::string_view path;       ///< up to the first `?`
  bool has_query = false;
  std::string_view query;     ///< behind the `?`
  std::string_view fragment;  ///< with its `#`
};

bool ends_url(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= 0x20 || byte == 0x7F || c == '"' || c == '<' || c == '>' || c == '`';
}

/// How much of the front of `text` belongs to a URL.
std::size_t size_of_url(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size()) {
    if (text.substr(end).starts_with(kLeftOut))
      end += kLeftOut.size();
    else if (ends_url(text[end]))
      break;
    else
      ++end;
  }
  constexpr std::string_view kPunctuation = ".,:;!)]}'\\";
  while (end > 0 && kPunctuation.find(text[end - 1]) != std::string_view::npos) --end;
  return end;
}

Found parse(std::string_view url) {
  Found out;
  const std::size_t query = url.find('?');
  const std::size_t fragment = url.find('#', query == std::string_view::npos ? 0 : query);
  const std::size_t end = std::min({query, fragment, url.size()});
  const std::size_t host_end = std::min(url.find_first_of("/?#"), url.size());
  out.authority = url.substr(0, host_end);
  out.path = url.substr(host_end, std::max(end, host_end) - host_end);
  out.has_query = query != std::string_view::npos;
  if (out.has_query) out.query = url.substr(query + 1, std::min(fragment, url.size()) - query - 1);
  if (fragment != std::string_view::npos) out.fragment = url.substr(fragment);
  return out;
}

/// Runs `rewrite` on what follows "://" in every URL of a text.
template <class Rewrite>
std::string rewritten(std::string_view text, const Rewrite& rewrite) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at; (at = text.find(kAfterScheme, done)) != std::string_view::npos;) {
    const std::size_t begin = at + kAfterScheme.size();
    const bool has_scheme = at > done && (is_letter(text[at - 1]) || is_digit(text[at - 1]));
    out += text.substr(done, begin - done);
    done = begin;
    if (!has_scheme) continue;
    const std::string_view url = text.substr(begin, size_of_url(text.substr(begin)));
    out += rewrite(url);
    done += url.size();
  }
  return out += text.substr(done);
}

/// Where the name and password in front of a host end, at their '@'; npos if there are none. A password may
/// hold, against the rules, characters that end a host.
std::size_t end_of_user(std::string_view url, std::string_view authority) {
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) return at;
  const auto colon = authority.starts_with('[') ? std::string_view::npos : authority.find(':');
  if (colon == std::string_view::npos) return colon;
  const auto port = authority.substr(colon + 1);
  const bool is_port = std::all_of(port.begin(), port.end(), is_digit);
  return is_port ? std::string_view::npos : url.rfind('@');
}

// What Bora itself asks the hub for.
bool says_nothing(std::string_view query) { return query == "blobs=true"; }

std::string redacted_url(std::string_view url) {
  const std::size_t user = end_of_user(url, parse(url).authority);
  std::string out;
  if (user != std::string_view::npos) {
    out = url.substr(0, user) == "anonymous" ? "anonymous" : kLeftOut;
    url.remove_prefix(user);
  }
  const Found found = parse(url);
  out.append(found.authority).append(found.path);
  if (says_nothing(found.query)) return out.append(found.fragment);
  if (found.has_query) out += '?';
  if (!found.query.empty()) out += kLeftOut;
  return out.append(found.fragment);
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Parameters that say who may read: Amazon's, Google's, Alibaba's and CloudFront's signatures, and the names
/// that others give to a password.
bool is_credential(std::string_view name) {
  for (const std::string_view vendor : {"x-amz-", "x-goog-", "x-oss-"}) {
    if (name.starts_with(vendor)) return true;
  }
  return is_one_of(name, {"awsaccesskeyid", "googleaccessid", "ossaccesskeyid", "signature",  "expires",
                          "policy",         "key-pair-id",    "security-token", "token",      "access_token",
                          "auth_token",     "session_token",  "api_key",        "apikey",     "auth",
                          "authorization",  "password",       "secret",         "credential", "sig"});
}

/// The rest of a shared access signature of Azure; without `sig` such short names may mean anything.
bool is_of_shared_access(std::string_view name) {
  return is_one_of(name, {"sv",    "ss",    "srt", "sr",  "st",  "se",  "sp",    "sip",   "spr",  "sdd",
                          "skoid", "sktid", "skt", "ske", "sks", "skv", "saoid", "suoid", "scid", "ses"});
}

std::string name_of(std::string_view parameter) {
  return ascii_lower(parameter.substr(0, parameter.find('=')));
}

std::string named_url(std::string_view url) {
  if (const std::size_t user = end_of_user(url, parse(url).authority);
      user != std::string_view::npos && url.substr(0, user) != "anonymous")
    url.remove_prefix(user + 1);
  const Found found = parse(url);
  std::string out(found.authority);
  out += found.path;
  auto parameters = split(found.query, '&');
  const bool is_shared = std::any_of(parameters.begin(), parameters.end(),
                                     [](const auto& parameter) { return name_of(parameter) == "sig"; });
  const std::size_t before = parameters.size();
  std::erase_if(parameters, [&](const std::string& parameter) {
    const std::string name = name_of(parameter);
    return is_credential(name) || (is_shared && is_of_shared_access(name));
  });
  if (found.has_query && (parameters.size() == before || !parameters.empty()))
    out += '?' + join(parameters, "&");
  return out.append(found.fragment);
}

}  // namespace

std::string redact(std::string_view text) {
  std::string out = rewritten(text, redacted_url);
  for (const auto& secret : env::secrets())
    for (std::size_t at = 0; (at = out.find(secret, at)) != std::string::npos; at += kLeftOut.size())
      out.replace(at, secret.size(), kLeftOut);
  return out;
}

bool is_redacted(std::string_view text) { return text.find(kLeftOut) != std::string_view::npos; }

std::string without_credentials(std::string_view text) { return rewritten(text, named_url); }

}  // namespace bora
