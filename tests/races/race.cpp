// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What ThreadSanitizer has to find: two threads that count without a lock.
#include <thread>

int main() {
  int count = 0;
  const auto add = [&count] {
    for (int i = 0; i < 1000; ++i) ++count;
  };
  std::thread other(add);
  add();
  other.join();
  return count == 0;
}
