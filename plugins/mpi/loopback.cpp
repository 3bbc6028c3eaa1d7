// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Loaded into mpirun and its workers (LD_PRELOAD) by `bora launch` where all of them run on one machine: what
// would listen on every network of it listens on the loopback alone. Open MPI has no setting for that: its
// options choose the networks that it tells of, while its sockets are bound to all.
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace {

using Bind = int(int, const sockaddr*, socklen_t);

bool is_stream(int socket) {
  int type = 0;
  socklen_t length = sizeof type;
  return ::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

// Any address of a family becomes the loopback's.
void keep_inside(sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    if (v4.sin_addr.s_addr == htonl(INADDR_ANY)) v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::memcpy(&address, &v4, sizeof v4);
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    if (IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr)) v6.sin6_addr = in6addr_loopback;
    std::memcpy(&address, &v6, sizeof v6);
  }
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int bind(int socket, const sockaddr* address,
                                                   socklen_t length) noexcept {
  static auto* const system = reinterpret_cast<Bind*>(::dlsym(RTLD_NEXT, "bind"));
  sockaddr_storage inside{};
  if (address == nullptr || length < sizeof(sa_family_t) || length > sizeof inside || !is_stream(socket))
    return system(socket, address, length);
  std::memcpy(&inside, address, length);
  keep_inside(inside);
  return system(socket, reinterpret_cast<const sockaddr*>(&inside), length);
}
