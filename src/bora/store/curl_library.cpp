// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/curl_library.h"

#include <dlfcn.h>

#include <memory>
#include <type_traits>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::store {
namespace {

constexpr const char* kLibrary = "libcurl.so.4";
// A scheme that is not followed is told by name.
constexpr unsigned kReading = CURLU_NON_SUPPORT_SCHEME;

Curl load() {
  void* handle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    fail(ErrorKind::Unsupported, "data files: URLs need {}: {}\nhint: sudo apt-get install libcurl4",
         kLibrary, dlerror());
  }
  Curl out{};
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (!function) fail(ErrorKind::Unsupported, "data files: {} lacks {}", kLibrary, name);
  };
  find(out.global_init, "curl_global_init");
  find(out.init, "curl_easy_init");
  find(out.set, "curl_easy_setopt");
  find(out.perform, "curl_easy_perform");
  find(out.info, "curl_easy_getinfo");
  find(out.error, "curl_easy_strerror");
  find(out.cleanup, "curl_easy_cleanup");
  find(out.append, "curl_slist_append");
  find(out.free_list, "curl_slist_free_all");
  find(out.url, "curl_url");
  find(out.url_set, "curl_url_set");
  find(out.url_get, "curl_url_get");
  find(out.url_cleanup, "curl_url_cleanup");
  find(out.free, "curl_free");
  out.global_init(CURL_GLOBAL_DEFAULT);
  return out;
}

/// A part of a URL after a relative one, if any, was followed from it; "" for what is none.
std::string part_of(const Curl& curl, const std::string& url, const std::string& to, CURLUPart part) {
  const std::unique_ptr<CURLU, decltype(curl.url_cleanup)> handle(curl.url(), curl.url_cleanup);
  if (!handle || curl.url_set(handle.get(), CURLUPART_URL, url.c_str(), kReading) != CURLUE_OK) return "";
  if (!to.empty() &&
      curl.url_set(handle.get(), CURLUPART_URL, to.c_str(), kReading | CURLU_URLENCODE) != CURLUE_OK)
    return "";
  char* text = nullptr;
  if (curl.url_get(handle.get(), part, &text, 0) != CURLUE_OK) return "";
  const std::unique_ptr<char, void (*)(void*)> owner(text, curl.free);
  return text;
}

}  // namespace

const Curl& Curl::get() {
  static const Curl curl = load();
  return curl;
}

std::string Curl::host(const std::string& address) const {
  const std::string out = ascii_lower(part_of(*this, address, "", CURLUPART_HOST));
  return out.starts_with('[') ? out.substr(1, out.size() - 2) : out;
}

std::string Curl::resolve(const std::string& from, const std::string& to) const {
  return to.empty() ? "" : part_of(*this, from, to, CURLUPART_URL);
}

}  // namespace bora::store
