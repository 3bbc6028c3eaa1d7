// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// One request. libcurl moves the bytes; what of them is believed is decided here: it would take a body that goes
// on behind its Content-Length for a good one, and follow a redirection before anybody has seen it.
#include "bora/store/http_request.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "bora/base/clock.h"
#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/store/curl_library.h"
#include "bora/store/http_rules.h"
#include "bora/store/unreached.h"

namespace bora::store {
namespace {

constexpr const char* kProtocols = "http,https";
constexpr int kMostRedirections = 10;
constexpr std::size_t kLongestHeaders = 256 << 10;
constexpr long kSlowest = 100;       // bytes a second
constexpr double kCloseSeconds = 1;  // for a server to close behind a complete body
constexpr const char* kClose = "Connection: close";

bool is_redirection(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// "https://host:port"
std::string_view server_of(std::string_view url) {
  const auto host = url.find("://");
  return host == url.npos ? url : url.substr(0, url.find_first_of("/?#", host + 3));
}

/// One transfer. Nothing may throw through libcurl: what goes wrong in a callback waits in thrown_.
class Transfer {
 public:
  Transfer(const HttpRequest& request, const HttpReceiver& receiver, const HttpBody* body = nullptr)
      : curl_(Curl::get()),
        request_(request),
        receiver_(receiver),
        body_(body),
        url_(request.url),
        proxies_(request.allow_private ? std::vector<std::string>() : env::proxies()),
        handle_(curl_.init(), curl_.cleanup),
        headers_(nullptr, curl_.free_list) {
    if (!handle_) fail(ErrorKind::Io, "{}: libcurl cannot start", redact(url_));
    set(CURLOPT_PROTOCOLS_STR, kProtocols);
    set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_IGNORE_CONTENT_LENGTH, 1L);  // counted here
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, "bora");
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_seconds * 1000));
    set(CURLOPT_LOW_SPEED_LIMIT, kSlowest);
    set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(request.silent_seconds)));
    set(CURLOPT_ERRORBUFFER, words_.data());
    set(CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_socket);
    set(CURLOPT_OPENSOCKETDATA, this);
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
    set(CURLOPT_XFERINFODATA, this);
    add_headers(true);
  }

  /// Sends the body.
  void send_with(const std::string& method) {
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_CUSTOMREQUEST, method.c_str());  // libcurl copies it
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(body_->size));
    set(CURLOPT_READFUNCTION, &Transfer::on_read);
    set(CURLOPT_READDATA, this);
  }

  /// Of the next request.
  void add_headers(bool with_token) {
    const auto& request = request_;
    headers_.reset();
    add_header(kClose);
    if (with_token)
      for (const auto& line : request.headers) add_header(line);
    if (body_ != nullptr) add_header("Expect:");  // nothing is waited for before the body
    if (with_token && !request.bearer.empty()) add_header("Authorization: Bearer " + request.bearer);
    if (request.begin > 0) {
      add_header(fmt::format("Range: bytes={}-", request.begin));
      if (!request.unchanged.empty()) add_header("If-Range: " + request.unchanged);
    }
    set(CURLOPT_HTTPHEADER, headers_.get());
  }

  HttpAnswer run() {
    for (int redirections = 0;; ++redirections) {
      if (redirections > kMostRedirections)
        fail(ErrorKind::Unsupported, "{}: more than {} redirections", redact(request_.url),
             kMostRedirections);
      if (!proxies_.empty()) refuse_by_name();
      set(CURLOPT_URL, url_.c_str());
      const CURLcode code = curl_.perform(handle_.get());
      if (thrown_) std::rethrow_exception(thrown_);
      if (!next_.empty()) {
        if (body_ != nullptr)
          fail(ErrorKind::Unsupported, "{}: points to {}, and what is sent goes to nobody else", redact(url_),
               redact(next_));
        check_redirection(url_, next_);
        add_headers(server_of(next_) == server_of(request_.url));
        url_ = std::move(next_);
        next_.clear();
        is_answered_ = false;
        continue;
      }
      if (!(has_begun_ && !wanted_)) check(code);
      return answer_;
    }
  }

 private:
  template <class T>
  void set(CURLoption option, T value) {
    if (curl_.set(handle_.get(), option, value) != CURLE_OK)
      fail(ErrorKind::Unsupported, "{}: this libcurl does not know option {}", redact(url_),
           static_cast<int>(option));
  }

  void add_header(const std::string& line) { headers_.reset(curl_.append(headers_.release(), line.c_str())); }

  /// Through a proxy no address is seen here.
  void refuse_by_name() const {
    const std::string host = curl_.host(url_);
    if (closed_network(host)) refuse_address(url_, host);
    if (host == "localhost" || host.ends_with(".localhost")) refuse_address(url_, "127.0.0.1");
  }

  bool is_complete() const { return length_ && received_ == *length_; }

  /// Whether all has come; libcurl's word counts where the server has not said how much that is.
  void check(CURLcode code) {
    if (is_complete()) return;
    if (!refused_.empty() && !has_begun_) refuse_address(url_, refused_);
    const std::string url = redact(url_);
    if (code == CURLE_OPERATION_TIMEDOUT) fail_silent(url);
    if (length_ && (code == CURLE_OK || may_pass(code)))
      fail(ErrorKind::Io, "{}: ended after {} of {} bytes", url, received_, *length_);
    if (code == CURLE_OK) return;
    const auto said =
        fmt::format("{}: {}", url, redact(words_[0] != '\0' ? words_.data() : curl_.error(code)));
    if (may_pass(code) && !is_answered_) throw Unreached(said);
    throw Error(may_pass(code) ? ErrorKind::Io : ErrorKind::Unsupported, said);
  }

  [[noreturn]] void fail_silent(const std::string& url) const {
    double connected = 0;
    curl_.info(handle_.get(), CURLINFO_CONNECT_TIME, &connected);
    if (connected == 0)
      throw Unreached(fmt::format("{}: no connection within {} s", url, request_.connect_seconds));
    const auto said = fmt::format("{}: the server sent nothing, or less than {} bytes a second, for {} s",
                                  url, kSlowest, request_.silent_seconds);
    if (!is_answered_) throw Unreached(said);
    throw Error(ErrorKind::Io, said);
  }

  /// The headers are complete. False: no body is wanted.
  bool begin() {
    auto& headers = answer_.headers;
    if (const auto to = headers.find("location"); is_redirection(answer_.status) && to != headers.end()) {
      next_ = curl_.resolve(url_, to->second);
      if (next_.empty())
        fail(ErrorKind::Unsupported, "{}: the server points to \"{}\", which is no URL", redact(url_),
             redact(to->second));
      return false;
    }
    if (headers.contains("transfer-encoding")) headers.erase("content-length");
    if (const auto length = headers.find("content-length"); length != headers.end()) {
      length_ = parse_content_length(length->second);
      if (!length_)
        fail(ErrorKind::Unsupported, "{}: the server's Content-Length is \"{}\", which is no size",
             redact(url_), length->second);
    }
    has_begun_ = true;
    wanted_ = receiver_.begin(answer_);
    return wanted_ && length_ != 0;
  }

  void take_header(std::string_view line) {
    headers_size_ += line.size();
    if (headers_size_ > kLongestHeaders)
      fail(ErrorKind::Unsupported, "{}: the server's headers are longer than {} KiB", redact(url_),
           kLongestHeaders >> 10);
    if (line.starts_with("HTTP/")) {  // the next answer
      is_answered_ = true;
      std::erase_if(answer_.headers,
                    [](const auto& header) { return !header.first.starts_with("x-linked-"); });
      const auto status = line.substr(std::min(line.find(' '), line.size()));
      answer_.status = static_cast<int>(parse_int(trim(status).substr(0, 3)).value_or(0));
      return;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string name = ascii_lower(line.substr(0, colon));
    const std::string value(trim(line.substr(colon + 1)));
    auto& known = answer_.headers[name];
    const bool contradicts = name == "content-length" && !known.empty() && known != value;
    known = contradicts ? known + ", " + value : value;
  }

  /// Runs a callback's body; false if it threw.
  template <class Body>
  bool guarded(const Body& body) {
    try {
      return body();
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
  }

  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::string_view line(data, size);
    const bool goes_on = transfer.guarded([&] {
      transfer.take_header(line);
      const bool is_last = trim(line).empty() && transfer.answer_.status >= 200 && !transfer.has_begun_;
      return !is_last || transfer.begin();
    });
    return goes_on ? size : 0;
  }

  static std::size_t on_read(char* data, std::size_t, std::size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const auto& body = *transfer.body_;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(size, body.size - transfer.sent_));
    const bool goes_on = transfer.guarded([&] {
      if (n > 0) body.read(transfer.sent_, std::as_writable_bytes(std::span(data, n)));
      return true;
    });
    if (!goes_on) return CURL_READFUNC_ABORT;
    transfer.sent_ += n;
    return n;
  }

  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const bool goes_on = transfer.guarded([&] {
      if (!transfer.wanted_) return false;
      transfer.received_ += static_cast<std::int64_t>(size);
      if (transfer.length_ && transfer.received_ > *transfer.length_)
        fail(ErrorKind::Unsupported, "{}: sent more than the {} bytes of its Content-Length",
             redact(transfer.url_), *transfer.length_);
      transfer.receiver_.body(std::as_bytes(std::span(data, size)));
      if (transfer.is_complete()) transfer.completed_ = monotonic_seconds();
      return true;
    });
    return goes_on ? size : 0;
  }

  /// A server that keeps the connection open though it was asked not to is not waited for.
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto& transfer = *static_cast<Transfer*>(self);
    return transfer.is_complete() && monotonic_seconds() > transfer.completed_ + kCloseSeconds ? 1 : 0;
  }

  static curl_socket_t on_socket(void* self, curlsocktype, curl_sockaddr* to) {
    auto& transfer = *static_cast<Transfer*>(self);
    const bool allowed = transfer.guarded([&] { return transfer.may_connect(*to); });
    return allowed ? ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol) : CURL_SOCKET_BAD;
  }

  bool may_connect(const curl_sockaddr& to) {
    if (request_.allow_private) return true;
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> port{};
    if (::getnameinfo(&to.addr, to.addrlen, host.data(), host.size(), port.data(), port.size(),
                      NI_NUMERICHOST | NI_NUMERICSERV) != 0)
      return false;
    const std::string address = host.data();
    if (!closed_network(address)) return true;
    const auto number = static_cast<int>(parse_int(port.data()).value_or(0));
    for (const auto& proxy : proxies_) {
      if (is_address_of(proxy, address, number)) return true;
    }
    refused_ = address;
    return false;
  }

  const Curl& curl_;
  const HttpRequest& request_;
  const HttpReceiver& receiver_;
  const HttpBody* body_;
  std::uint64_t sent_ = 0;
  std::string url_;                   ///< of the server that is asked
  std::vector<std::string> proxies_;  ///< that may have any address
  std::unique_ptr<CURL, void (*)(CURL*)> handle_;
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers_;
  std::array<char, CURL_ERROR_SIZE> words_{};
  HttpAnswer answer_;
  std::size_t headers_size_ = 0;  ///< of all answers
  std::string next_;              ///< where the server points to
  std::string refused_;           ///< an address that is not asked
  std::optional<std::int64_t> length_;
  std::int64_t received_ = 0;
  double completed_ = 0;
  bool has_begun_ = false, wanted_ = false;
  bool is_answered_ = false;  ///< by the server of url_
  std::exception_ptr thrown_;
};

}  // namespace

HttpAnswer http_get(const HttpRequest& request, const HttpReceiver& receiver) {
  return Transfer(request, receiver).run();
}

HttpAnswer http_send(std::string_view method, const HttpRequest& request, const HttpBody& body,
                     const HttpReceiver& receiver) {
  Transfer transfer(request, receiver, &body);
  transfer.send_with(std::string(method));
  return transfer.run();
}

}  // namespace bora::store
