// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/hooks/timeline.h"

#include <fmt/core.h>

#include <span>
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

// Between steps, `next` being the one that comes.
void Timeline::at_boundary(std::int64_t next) {
  if (!config_.enabled) return;
  const std::int64_t end = config_.start_step + config_.num_steps;
  if (next >= end) return finish();
  if (first_ >= 0 || next < config_.start_step) return;
  first_ = next;
  begin_timeline(session_.workers());
}

void Timeline::finish() {
  if (first_ < 0) return;
  const auto path = path_join(session_.place().directory, fmt::format("trace-step-{}.json", first_));
  write_timeline(session_.workers(), path);
  written_ = path;
  first_ = -1;
}

void Timeline::end(train::Outcome /*outcome*/) {
  finish();
  if (!written_.empty())
    session_.console().fact("timeline", written_ + ": open it in ui.perfetto.dev or chrome://tracing");
}

}  // namespace bora::run
