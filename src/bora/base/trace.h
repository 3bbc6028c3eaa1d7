// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Where the time goes: spans of all threads of a process, for chrome://tracing and Perfetto.
///
///     trace::start();                                   // time 0
///     { trace::Span span("forward", "lane", lane); ... }
///     auto events = trace::to_chrome_events(trace::stop(), rank, "worker 0 (host a)");
///
/// Nothing is recorded between stop() and start(); a span costs a read of one flag then, and two readings of
/// the clock while there is a recording. Spans of one thread may nest.
namespace bora::trace {

/// Of one thread at most; later ones are counted, not kept.
inline constexpr std::size_t kMostSpans = 1U << 20U;

struct Event {
  const char* name;
  const char* key;          ///< of `value`; null: none
  std::int64_t value;       ///< a number that belongs to it: a lane, bytes
  std::int64_t begin, end;  ///< nanoseconds after start()
};

struct Thread {
  std::string name;
  std::vector<Event> events;  ///< in the order of their ends
  std::int64_t dropped = 0;
};

/// Begins a recording; forgets the one before. Any thread.
void start();
/// Ends it. The calling thread first, then others in the order of their first span in this process; those
/// without spans are left out.
std::vector<Thread> stop();
/// This thread's name in recordings: a literal. Default: "thread".
void name_thread(const char* literal);

namespace detail {
extern std::atomic<std::int64_t> recording;  // its number; 0: none
std::int64_t now();                          // nanoseconds after start()
void record(std::int64_t recording, const Event& event);
void record_travel(std::int64_t recording, const Event& event);
}  // namespace detail

inline bool on() { return detail::recording.load(std::memory_order_relaxed) != 0; }

namespace detail {

// A span while it lasts.
class Open {
 public:
  void begin(const char* name, const char* key, std::int64_t value) {
    recording_ = recording.load(std::memory_order_acquire);
    if (recording_ != 0) event_ = {name, key, value, now(), 0};
  }
  // `keep`: record or record_travel.
  void end(void (*keep)(std::int64_t, const Event&)) {
    if (recording_ == 0) return;
    event_.end = now();
    keep(recording_, event_);
    recording_ = 0;
  }

 private:
  std::int64_t recording_ = 0;
  Event event_;
};

}  // namespace detail

/// From here to the end of the block, or to end(). Names are literals, which live as long as the program.
class [[nodiscard]] Span {
 public:
  template <std::size_t N>
  explicit Span(const char (&name)[N]) {
    open_.begin(name, nullptr, 0);
  }
  template <std::size_t N, std::size_t K>
  Span(const char (&name)[N], const char (&key)[K], std::int64_t value) {
    open_.begin(name, key, value);
  }
  ~Span() { end(); }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  void end() { open_.end(detail::record); }

 private:
  detail::Open open_;
};

/// A span that may cross those of its thread: messages on their way. It is drawn beside the thread.
class Travel {
 public:
  template <std::size_t N, std::size_t K>
  void begin(const char (&name)[N], const char (&key)[K], std::int64_t value) {
    open_.begin(name, key, value);
  }
  void end() { open_.end(detail::record_travel); }

 private:
  detail::Open open_;
};

/// JSON objects of Chrome's trace event format, separated by commas: spans ("ph": "X", times in microseconds)
/// and names of this process and its threads. `process`: its number, which orders processes.
std::string to_chrome_events(std::span<const Thread> threads, int process, std::string_view name);

/// A whole file of the events of processes.
std::string chrome_trace(std::span<const std::string> events);

}  // namespace bora::trace
