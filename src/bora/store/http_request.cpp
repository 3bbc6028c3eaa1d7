// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// libcurl brings thirty libraries with it: it is opened when the first URL is fetched, not with the program.
#include "bora/store/http_request.h"

#include <curl/curl.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::store {
namespace {

constexpr const char* kLibrary = "libcurl.so.4";
constexpr const char* kProtocols = "http,https";
constexpr long kMostRedirections = 10;

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

  static const Curl& get() {
    static const Curl curl = load();
    return curl;
  }

 private:
  static Curl load() {
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
    out.global_init(CURL_GLOBAL_DEFAULT);
    return out;
  }
};

/// One transfer. Nothing may throw through libcurl: what a receiver throws waits in thrown_.
class Transfer {
 public:
  Transfer(const HttpRequest& request, const HttpReceiver& receiver)
      : curl_(Curl::get()),
        receiver_(receiver),
        url_(request.url),
        handle_(curl_.init(), curl_.cleanup),
        headers_(nullptr, curl_.free_list) {
    if (!handle_) fail(ErrorKind::Io, "{}: libcurl cannot start", url_);
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_PROTOCOLS_STR, kProtocols);
    set(CURLOPT_REDIR_PROTOCOLS_STR, kProtocols);
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, kMostRedirections);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, "bora");
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_seconds * 1000));
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(request.silent_seconds)));
    set(CURLOPT_ERRORBUFFER, words_.data());
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_WRITEDATA, this);
    if (request.begin == 0) return;
    add_header(fmt::format("Range: bytes={}-", request.begin));
    if (!request.unchanged.empty()) add_header("If-Range: " + request.unchanged);
    set(CURLOPT_HTTPHEADER, headers_.get());
  }

  HttpAnswer run() {
    const CURLcode code = curl_.perform(handle_.get());
    if (thrown_) std::rethrow_exception(thrown_);
    if (code == CURLE_OK && !begun_) begin();  // an answer without a body
    if (thrown_) std::rethrow_exception(thrown_);
    if (code != CURLE_OK && !(begun_ && !wanted_)) {
      fail(ErrorKind::Io, "{}: {}", url_, words_[0] != '\0' ? words_.data() : curl_.error(code));
    }
    return answer_;
  }

 private:
  template <class T>
  void set(CURLoption option, T value) {
    if (curl_.set(handle_.get(), option, value) != CURLE_OK)
      fail(ErrorKind::Unsupported, "{}: this libcurl does not know option {}", url_,
           static_cast<int>(option));
  }

  void add_header(const std::string& line) { headers_.reset(curl_.append(headers_.release(), line.c_str())); }

  void begin() {
    begun_ = true;
    long status = 0;
    curl_.info(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    answer_.status = static_cast<int>(status);
    try {
      wanted_ = receiver_.begin(answer_);
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }

  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) {
    const std::string_view line(data, size);
    const auto colon = line.find(':');
    auto& headers = static_cast<Transfer*>(self)->answer_.headers;
    if (line.starts_with("HTTP/")) {  // the next server's answer
      std::erase_if(headers, [](const auto& header) { return !header.first.starts_with("x-linked-"); });
    }
    if (colon == std::string_view::npos) return size;
    std::string name(line.substr(0, colon));
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    headers[name] = std::string(trim(line.substr(colon + 1)));
    return size;
  }

  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    if (!transfer.begun_) transfer.begin();
    if (transfer.thrown_ || !transfer.wanted_) return 0;
    try {
      transfer.receiver_.body(as_bytes_of(data, size));
      return size;
    } catch (...) {
      transfer.thrown_ = std::current_exception();
      return 0;
    }
  }

  static std::span<const std::byte> as_bytes_of(const char* data, std::size_t size) {
    return std::as_bytes(std::span(data, size));
  }

  const Curl& curl_;
  const HttpReceiver& receiver_;
  std::string url_;
  std::unique_ptr<CURL, void (*)(CURL*)> handle_;
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers_;
  std::array<char, CURL_ERROR_SIZE> words_{};
  HttpAnswer answer_;
  bool begun_ = false, wanted_ = false;
  std::exception_ptr thrown_;
};

}  // namespace

HttpAnswer http_get(const HttpRequest& request, const HttpReceiver& receiver) {
  return Transfer(request, receiver).run();
}

}  // namespace bora::store
