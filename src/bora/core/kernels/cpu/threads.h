// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>

namespace bora::kernels {

/// Threads of numerical work, the caller's included; libtorch itself runs on one. Call once, before compute.
void set_threads(int n);
int threads();

/// Calls body(begin, end) over fixed chunks [c·chunk, min((c+1)·chunk, n)) of [0, n). The chunks depend on n
/// and `chunk` alone, never on the number of threads; chunks run on any thread in any order. Serial inside
/// itself.
void for_chunks(std::int64_t n, std::int64_t chunk,
                const std::function<void(std::int64_t, std::int64_t)>& body);

/// While it lives, `look` is called between the chunks of loops, by the thread that made it and whose loops
/// they are: messages that travel beside a computation move only when somebody looks after them. Several may
/// live at once. The thread that made it ends it, and not from within `look`.
class BetweenChunks {
 public:
  explicit BetweenChunks(std::function<void()> look);
  ~BetweenChunks();
  BetweenChunks(const BetweenChunks&) = delete;
  BetweenChunks& operator=(const BetweenChunks&) = delete;

 private:
  friend void look_between_chunks();
  std::function<void()> look_;
  BetweenChunks* before_;  // of the same thread
};
/// Calls them. Kernels whose chunks take long do it within one.
void look_between_chunks();

}  // namespace bora::kernels
