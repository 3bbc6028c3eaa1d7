// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A mapped file can become shorter, or its disk can fail, at any time: the system then sends SIGBUS to the
// thread that reads the map.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace bora {

/// While it lives, a map is known as that of a file. Where no read_mapped is around the reading, the signal
/// ends the process: a message that names the file, and exit code 3.
class MapGuard {
 public:
  MapGuard(const std::string& path, std::span<const std::byte> map);
  ~MapGuard();
  MapGuard(const MapGuard&) = delete;
  MapGuard& operator=(const MapGuard&) = delete;

  struct Range;

 private:
  Range* range_;
};

/// Runs `body`, which may read maps. Where one of them fails, `body` is left at once, without destructors: it
/// should do no more than copy or compute, and hold neither locks nor memory. May be nested.
/// Errors: Corruption that names the file; what `body` throws.
template <class Body>
void read_mapped(Body&& body);

/// Throws what read_mapped does of a file that had `mapped` bytes and has `size` now.
[[noreturn]] void fail_unreadable_map(const std::string& path, std::uint64_t size, std::uint64_t mapped);

void run_read_mapped(void (*body)(void*), void* argument);

template <class Body>
void read_mapped(Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  run_read_mapped([](void* argument) { (*static_cast<Plain*>(argument))(); },
                  const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace bora
