// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "run_all.h"

#include <atomic>
#include <thread>

#include "bora/base/file.h"

namespace bora::golden {

std::vector<Finished> run_all(const std::string& folder,
                              const std::vector<std::vector<std::string>>& arguments) {
  std::vector<Finished> out(arguments.size());
  std::atomic<std::size_t> next{0};
  auto work = [&](const std::string& place) {
    for (auto i = next++; i < arguments.size(); i = next++) out[i] = run(place, arguments[i]);
  };
  for (const char* name : {"/0", "/1"}) files().make_directories(folder + name);
  std::thread other(work, folder + "/0");
  work(folder + "/1");
  other.join();
  return out;
}

}  // namespace bora::golden
