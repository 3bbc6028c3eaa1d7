// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/profile.h"

#include <fmt/core.h>

#include <span>
#include <utility>
#include <vector>

#include "bora/base/file.h"
#include "bora/base/trace.h"

namespace bora::run {

void begin_timeline(mesh::Communicator& workers) {
  trace::name_thread("training");
  workers.barrier();
  trace::start();
}

void write_timeline(mesh::Communicator& workers, const std::string& path) {
  const auto own = trace::to_chrome_events(trace::stop(), workers.rank(), workers.who());
  std::vector<std::string> all;
  for (const auto& bytes : workers.all_gather_unequal(as_bytes(own)))
    all.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (workers.rank() == 0) write_atomically(path, trace::chrome_trace(all));
}

Profile::Profile(const train::ProfilerConfig& config, std::string run_directory,
                 std::shared_ptr<mesh::Communicator> workers)
    : config_(config), run_directory_(std::move(run_directory)), workers_(std::move(workers)) {}

void Profile::at_boundary(std::int64_t next) {
  if (!config_.enabled) return;
  const std::int64_t end = config_.start_step + config_.num_steps;
  if (next >= end) return finish();
  if (first_ >= 0 || next < config_.start_step) return;
  first_ = next;
  begin_timeline(*workers_);
}

void Profile::finish() {
  if (first_ < 0) return;
  const auto path = path_join(run_directory_, fmt::format("trace-step-{}.json", first_));
  write_timeline(*workers_, path);
  written_ = path;
  first_ = -1;
}

}  // namespace bora::run
