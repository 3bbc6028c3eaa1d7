// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The file, after "Trace Event Format" (Google, 2016), section "JSON Object Format":
//
//     trace  = {"displayTimeUnit": "ms", "traceEvents": [event, ...]}
//     event  = span | named
//     span   = {"ph": "X", "pid": n, "tid": n, "ts": microseconds, "dur": microseconds, "name": text, args?}
//     named  = {"ph": "M", "pid": n, "tid": n, "name": "process_name" | "thread_name", "args": {"name":
//     text}}
//            | {"ph": "M", "pid": n, "tid": 0, "name": "process_sort_index", "args": {"sort_index": n}}
//     args   = "args": {key: whole number}
#include "bora/base/trace.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>

#include "bora/base/json.h"

namespace bora::trace {
namespace {

// Of one thread; outlives it, so that its spans do.
struct Buffer {
  std::mutex mutex;
  std::int64_t recording = 0;  // of `thread.events`
  Thread thread;
};

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::int64_t last = 0;  // recording
};

// Never destroyed: threads may end after the statics.
Registry& registry() {
  static auto* all = new Registry;
  return *all;
}

std::atomic<std::int64_t> origin{0};  // nanoseconds of the clock
thread_local const char* thread_name = "thread";

std::int64_t clock_now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::shared_ptr<Buffer> new_buffer() {
  auto made = std::make_shared<Buffer>();
  auto& all = registry();
  const std::lock_guard lock(all.mutex);
  all.buffers.push_back(made);
  return made;
}

Buffer& own_buffer() {
  thread_local const std::shared_ptr<Buffer> buffer = new_buffer();
  return *buffer;
}

Buffer& own_travels() {
  thread_local const std::shared_ptr<Buffer> buffer = new_buffer();
  return *buffer;
}

// What belongs to an earlier recording goes when the first span of this one comes.
void append(Buffer& buffer, std::int64_t number, const Event& event, const char* name) {
  const std::lock_guard lock(buffer.mutex);
  if (number != detail::recording.load(std::memory_order_acquire)) return;
  auto& thread = buffer.thread;
  if (buffer.recording != number) {
    buffer.recording = number;
    thread = {};
  }
  thread.name = name;
  if (thread.events.size() < kMostSpans)
    thread.events.push_back(event);
  else
    ++thread.dropped;
}

// Microseconds with all digits.
void append_time(std::string& out, std::int64_t nanoseconds) {
  fmt::format_to(std::back_inserter(out), "{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

void append_name(std::string& out, const char* what, int process, std::size_t thread, std::string_view name) {
  fmt::format_to(std::back_inserter(out),
                 R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}})", process, thread, what,
                 Json(name).dump());
}

void append_span(std::string& out, const Event& e, int process, std::size_t thread) {
  fmt::format_to(std::back_inserter(out), R"({{"ph":"X","pid":{},"tid":{},"ts":)", process, thread);
  append_time(out, e.begin);
  out += R"(,"dur":)";
  append_time(out, e.end - e.begin);
  fmt::format_to(std::back_inserter(out), R"(,"name":"{}")", e.name);
  if (e.key) fmt::format_to(std::back_inserter(out), R"(,"args":{{"{}":{}}})", e.key, e.value);
  out += '}';
}

}  // namespace

namespace detail {

std::atomic<std::int64_t> recording{0};

std::int64_t now() { return clock_now() - origin.load(std::memory_order_relaxed); }

void record(std::int64_t number, const Event& event) { append(own_buffer(), number, event, thread_name); }

void record_travel(std::int64_t number, const Event& event) {
  append(own_travels(), number, event, "messages");
}

}  // namespace detail

void start() {
  auto& all = registry();
  const std::lock_guard lock(all.mutex);
  detail::recording.store(0, std::memory_order_release);
  origin.store(clock_now(), std::memory_order_relaxed);
  detail::recording.store(++all.last, std::memory_order_release);
}

std::vector<Thread> stop() {
  const Buffer* mine = &own_buffer();
  auto& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto number = detail::recording.exchange(0, std::memory_order_acq_rel);
  // The caller's first, whoever began to record before it.
  std::stable_partition(all.buffers.begin(), all.buffers.end(),
                        [mine](const auto& buffer) { return buffer.get() == mine; });
  std::vector<Thread> threads;
  for (const auto& buffer : all.buffers) {
    const std::lock_guard own(buffer->mutex);
    if (number != 0 && buffer->recording == number) threads.push_back(std::move(buffer->thread));
    buffer->recording = 0;
    buffer->thread = {};
  }
  // Those of threads that have ended.
  std::erase_if(all.buffers, [](const auto& buffer) { return buffer.use_count() == 1; });
  return threads;
}

void name_thread(const char* literal) { thread_name = literal; }

std::string to_chrome_events(std::span<const Thread> threads, int process, std::string_view name) {
  std::string out;
  append_name(out, "process_name", process, 0, name);
  fmt::format_to(std::back_inserter(out),
                 ",\n"
                 R"({{"ph":"M","pid":{0},"tid":0,"name":"process_sort_index","args":{{"sort_index":{0}}}}})",
                 process);
  for (std::size_t t = 0; t < threads.size(); ++t) {
    const auto& thread = threads[t];
    out += ",\n";
    append_name(out, "thread_name", process, t,
                thread.dropped == 0 ? thread.name
                                    : fmt::format("{} ({} spans left out)", thread.name, thread.dropped));
    for (const auto& event : thread.events) {
      out += ",\n";
      append_span(out, event, process, t);
    }
  }
  return out;
}

std::string chrome_trace(std::span<const std::string> events) {
  return fmt::format("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n", fmt::join(events, ",\n"));
}

}  // namespace bora::trace
