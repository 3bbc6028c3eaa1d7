// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "copies.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "fake_device.h"
#include "graph.h"
#include "kernels.h"

namespace bora::fake_device {
namespace {

using Stream = core::DeviceKernels::Stream;

// What memory held at some time.
struct Held {
  std::int64_t time = 0;
  const char* first = nullptr;
  std::vector<char> bytes = {};
};

struct Event {
  bool of_copies = false, noted = false;
  std::int64_t copies = 0;  // of those that were given, when it was recorded
  std::shared_ptr<const Held> held = {};
};

struct CopyStream {
  std::mutex mutex;
  Copied when = Copied::at_once;
  std::deque<std::function<void()>> late;
  std::int64_t given = 0, done = 0, waited_for = 0;
  std::shared_ptr<const Held> after;  // what copies have waited for last
  std::int64_t time = 0;
  const char *first = nullptr, *end = nullptr;                          // of memory taken since it is so
  std::map<const char*, std::pair<std::size_t, std::int64_t>> cleared;  // bytes and when
  bool in_graph = false;
  CopyCounts counts;
  std::optional<std::int64_t> left_out;
  std::optional<std::int64_t> pinned_left;
  std::optional<Refused> refused;
  std::int64_t taken_before = 0;  // so many more of these
};
CopyStream& state() {
  static auto* const the = new CopyStream;  // arrays may go after what is static
  return *the;
}

bool is_of_copies(Stream s) { return s == &state(); }

bool is_refused(Refused what) {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  return s.refused == what && --s.taken_before < 0;
}

void* take_pinned(std::int64_t bytes) {
  refuse_while_noting("pinned memory is taken");
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.pinned_left) {
    if (*s.pinned_left < bytes) return nullptr;
    *s.pinned_left -= bytes;
  }
  void* p = std::malloc(static_cast<std::size_t>(bytes));
  if (p != nullptr) std::memset(p, 0xff, static_cast<std::size_t>(bytes));
  return p;
}

Stream copy_stream(std::int8_t /*device*/) { return &state(); }

void* new_event(std::int8_t /*device*/) { return new Event; }

void do_record(Event& event, bool of_copies) {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  event = {.of_copies = of_copies, .noted = noting(), .copies = s.given};
  if (of_copies) return;
  Held held{.time = ++s.time, .first = s.first};
  if (s.when == Copied::early) held.bytes.assign(s.first, s.end);
  event.held = std::make_shared<const Held>(std::move(held));
}

void do_wait(const Event& event, bool by_copies) {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  if (const auto number = s.counts.waits++; s.left_out == number) return;
  if (by_copies) {
    if (!event.of_copies) s.after = event.held;
    return;
  }
  if (!event.of_copies) return;
  s.waited_for = std::max(s.waited_for, event.copies);
  for (; s.done < event.copies && !s.late.empty(); ++s.done) {
    s.late.front()();
    s.late.pop_front();
  }
}

bool was_cleared_since(const CopyStream& s, const char* at, std::size_t bytes, std::int64_t time) {
  return std::ranges::any_of(s.cleared, [&](const auto& each) {
    const auto& [first, what] = each;
    return what.second >= time && first < at + bytes && at < first + what.first;
  });
}

void copy_early(CopyStream& s, char* to, const char* from, std::size_t bytes, bool out) {
  if (!s.after) {  // before anything
    if (out) std::memset(to, 0xff, bytes);
  } else if (!out) {
    if (!was_cleared_since(s, to, bytes, s.after->time)) std::memcpy(to, from, bytes);
  } else if (from < s.after->first || from + bytes > s.after->first + s.after->bytes.size()) {
    std::memset(to, 0xff, bytes);
  } else {
    std::memcpy(to, s.after->bytes.data() + (from - s.after->first), bytes);
  }
}

void do_copy(void* to, const void* from, std::size_t bytes) {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  const bool out = is_address(from);
  auto* const here = static_cast<char*>(out ? to : shadow(to));
  const auto* const source = static_cast<const char*>(out ? shadow(from) : from);
  ++(out ? s.counts.out : s.counts.back);
  (out ? s.counts.out_bytes : s.counts.back_bytes) += static_cast<std::int64_t>(bytes);
  ++s.given;
  if (s.when == Copied::late) {
    s.late.emplace_back([here, source, bytes] { std::memcpy(here, source, bytes); });
    return;
  }
  if (s.when == Copied::early)
    copy_early(s, here, source, bytes, out);
  else
    std::memcpy(here, source, bytes);
  s.done = s.given;
}

bool record_event(void* of, Stream stream) {
  auto& event = *static_cast<Event*>(of);
  const bool of_copies = is_of_copies(stream);
  do_record(event, of_copies);
  if (noting()) note([&event, of_copies] { do_record(event, of_copies); });
  return true;
}

// As CUDA: a graph waits for nothing outside of it, and what a stream outside of it is given is done at once.
bool wait_for_event(Stream stream, void* of) {
  const auto& event = *static_cast<Event*>(of);
  const bool by_copies = is_of_copies(stream);
  if (!by_copies && is_refused(Refused::wait)) return false;
  try {
    if (noting() && !event.noted) refuse_while_noting("a wait for what is none of it");
  } catch (const std::exception&) {
    return false;
  }
  do_wait(event, by_copies);
  if (noting()) {
    state().in_graph = state().in_graph || by_copies;
    note([&event, by_copies] { do_wait(event, by_copies); });
  }
  return true;
}

bool copy_beside(void* to, const void* from, std::int64_t n, Stream stream) {
  if (!is_of_copies(stream) || is_refused(is_address(from) ? Refused::out : Refused::back)) return false;
  if (noting() && !state().in_graph) refuse_while_noting("a copy that is none of it");
  const auto bytes = static_cast<std::size_t>(n);
  do_copy(to, from, bytes);
  if (noting()) note([=] { do_copy(to, from, bytes); });
  return true;
}

}  // namespace

CopiedWhen::CopiedWhen(Copied when) {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  s.when = when;
  s.after.reset();
  s.first = s.end = nullptr;  // nobody copies all that others have ever taken at each event
  s.cleared.clear();
}
CopiedWhen::~CopiedWhen() {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  s.when = Copied::at_once;
  s.late.clear();
  s.waited_for = s.done = s.given;
}

CopyCounts copy_counts() {
  const std::lock_guard lock(state().mutex);
  return state().counts;
}
void reset_copy_counts() {
  const std::lock_guard lock(state().mutex);
  state().counts = {};
}
void leave_out_wait(std::optional<std::int64_t> number) {
  const std::lock_guard lock(state().mutex);
  state().left_out = number;
}
void refuse_copies(std::optional<Refused> what, std::int64_t after) {
  const std::lock_guard lock(state().mutex);
  state().refused = what;
  state().taken_before = after;
}
void limit_pinned(std::optional<std::int64_t> bytes) {
  const std::lock_guard lock(state().mutex);
  state().pinned_left = bytes;
}

void cleared(const char* at, std::size_t bytes) {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.first == nullptr || at < s.first) s.first = at;
  if (s.end == nullptr || at + bytes > s.end) s.end = at + bytes;
  if (s.when == Copied::early) s.cleared[at] = {bytes, s.time};
}

bool copies_under_way() {
  const std::lock_guard lock(state().mutex);
  return state().waited_for < state().given;
}
void copies_before_graph() {
  const std::lock_guard lock(state().mutex);
  state().in_graph = false;
}

core::DeviceKernels::Copies copies_entries() {
  return {take_pinned, copy_stream, new_event, record_event, wait_for_event, copy_beside};
}

}  // namespace bora::fake_device
