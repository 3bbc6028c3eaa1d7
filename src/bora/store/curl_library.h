// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <curl/curl.h>

#include <string>

namespace bora::store {

/// libcurl. It brings thirty libraries with it: it is opened when the first URL is fetched, not with the
/// program. Errors: Unsupported where it is missing.
struct Curl {
  decltype(&::curl_global_init) global_init;
  decltype(&::curl_easy_init) init;
  decltype(&::curl_easy_setopt) set;
  decltype(&::curl_easy_perform) perform;
  decltype(&::curl_easy_getinfo) info;
  decltype(&::curl_easy_strerror) error;
  decltype(&::curl_easy_cleanup) cleanup;
  decltype(&::curl_slist_append) append;
  decltype(&::curl_slist_free_all) free_list;
  decltype(&::curl_url) url;
  decltype(&::curl_url_set) url_set;
  decltype(&::curl_url_get) url_get;
  decltype(&::curl_url_cleanup) url_cleanup;
  decltype(&::curl_free) free;

  static const Curl& get();

  /// As libcurl reads it: in lower case, 0x7f.1 as 127.0.0.1, [::1] without brackets; "" for what is no URL.
  std::string host(const std::string& address) const;
  /// Where `to`, which may be relative, leads; "" for what is no URL.
  std::string resolve(const std::string& from, const std::string& to) const;
};

}  // namespace bora::store
