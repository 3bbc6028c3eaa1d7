// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace bora::store {

/// Answers one HTTP connection after the other on 127.0.0.1, each with what `answer` gives for the request
/// (its head, as it came, and the body that its Content-Length announces), and closes it.
class TestServer {
 public:
  using Answer = std::function<std::string(const std::string& request)>;

  explicit TestServer(Answer answer)
      : answer_(std::move(answer)), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_, 32), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~TestServer() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  int port() const { return port_; }
  /// `path` begins with "/".
  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  int requests() const { return requests_; }

  /// What comes after a request's head.
  static std::string body(const std::string& request) { return request.substr(request.find("\r\n\r\n") + 4); }
  /// The second word of a request: "/a.txt?b=c".
  static std::string target(const std::string& request) {
    const auto from = request.find(' ') + 1;
    return request.substr(from, request.find(' ', from) - from);
  }

 private:
  void serve() {
    for (int c = accept(); c >= 0; c = accept()) {
      std::string request;
      std::string piece(1 << 14, '\0');
      while (!is_whole(request)) {
        const auto n = ::recv(c, piece.data(), piece.size(), 0);
        if (n <= 0) break;
        request.append(piece, 0, static_cast<std::size_t>(n));
      }
      ++requests_;
      const std::string reply = answer_(request);
      for (std::size_t sent = 0; sent < reply.size();) {
        const auto n = ::send(c, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) break;
        sent += static_cast<std::size_t>(n);
      }
      ::close(c);
    }
  }
  static bool is_whole(const std::string& request) {
    const auto end = request.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    const std::string name = "\r\nContent-Length: ";
    const auto length = request.find(name);
    return length >= end || request.size() >= end + 4 + std::stoul(request.substr(length + name.size()));
  }
  int accept() const { return ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC); }

  Answer answer_;
  int socket_, port_ = 0;
  std::atomic<int> requests_{0};
  std::thread thread_;
};

}  // namespace bora::store
