// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/map_guard.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "bora/base/error.h"

namespace bora {

// Never freed, only used again: the handler walks the list while other threads change it. It needs no more
// than its own range to stay as it is, and whoever reads a map keeps that one alive.
struct MapGuard::Range {
  std::atomic<std::uintptr_t> begin{0}, end{0};  // 0: not in use
  std::string path;
  Range* next = nullptr;         // in the list of all
  Range* next_unused = nullptr;  // in that of those not in use
};

namespace {

constexpr std::string_view kWhy =
    "\nhint: the file was changed while it was in use, or its disk fails; put it back and start again";

std::atomic<MapGuard::Range*> g_ranges{nullptr};
std::mutex g_changes;  // of the list and of the next one; never taken by the handler
MapGuard::Range* g_unused = nullptr;
struct sigaction g_before;

struct Fault {
  const MapGuard::Range* range = nullptr;
  std::uint64_t offset = 0;
};

// Where a thread that is inside of read_mapped goes on. In the thread's first block, so that the handler
// allocates nothing.
[[gnu::tls_model("initial-exec")]] thread_local sigjmp_buf* t_way_out = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local Fault t_fault;

const MapGuard::Range* find_range(std::uintptr_t at) {
  for (const auto* range = g_ranges.load(std::memory_order_acquire); range != nullptr; range = range->next) {
    const std::uintptr_t begin = range->begin.load(std::memory_order_acquire);
    if (begin != 0 && at >= begin && at < range->end.load(std::memory_order_acquire)) return range;
  }
  return nullptr;
}

// A line built and written by nothing but what a signal handler may call.
class PlainLine {
 public:
  PlainLine& add(std::string_view text) {
    const std::size_t n = std::min(text.size(), line_.size() - used_);
    std::memcpy(line_.data() + used_, text.data(), n);
    used_ += n;
    return *this;
  }
  PlainLine& add(std::uint64_t number) {
    std::array<char, 20> digits{};
    std::size_t at = digits.size();
    do digits[--at] = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    return add({digits.data() + at, digits.size() - at});
  }
  void write() const {
    for (std::size_t done = 0; done < used_;) {
      const auto n = ::write(STDERR_FILENO, line_.data() + done, used_ - done);
      if (n <= 0) return;
      done += static_cast<std::size_t>(n);
    }
  }

 private:
  std::array<char, 6000> line_{};  // more than the longest path
  std::size_t used_ = 0;
};

[[noreturn]] void end_process(const Fault& fault) {
  PlainLine line;
  line.add("\nbora: ").add(std::string_view(fault.range->path)).add(": byte ").add(fault.offset);
  line.add(" of ").add(fault.range->end.load() - fault.range->begin.load());
  line.add(" cannot be read any more").add(kWhy).add("\n").write();
  ::_exit(exit_code(ErrorKind::Corruption));
}

void on_bus_error(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const auto* range = info->si_code > 0 ? find_range(at) : nullptr;
  if (range == nullptr) {  // not of a map: as if there were no handler
    ::sigaction(SIGBUS, &g_before, nullptr);
    if (info->si_code <= 0) ::raise(SIGBUS);
    return;  // the same instruction again
  }
  t_fault = {range, at - range->begin.load(std::memory_order_relaxed)};
  if (t_way_out != nullptr) siglongjmp(*t_way_out, 1);
  end_process(t_fault);
}

// SA_NODEFER: a jump out of the handler leaves no signal blocked.
void install_handler() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &g_before);
}

MapGuard::Range* unused_range() {
  if (g_unused != nullptr) return std::exchange(g_unused, g_unused->next_unused);
  auto* range = new MapGuard::Range;
  range->next = g_ranges.load();
  g_ranges.store(range, std::memory_order_release);
  return range;
}

[[noreturn]] void fail_fault(const Fault& fault) {
  const std::string path = fault.range->path;
  const std::uint64_t mapped = fault.range->end.load() - fault.range->begin.load();
  struct stat now {};
  if (::stat(path.c_str(), &now) == 0 && static_cast<std::uint64_t>(now.st_size) < mapped)
    fail_unreadable_map(path, static_cast<std::uint64_t>(now.st_size), mapped);
  fail(ErrorKind::Corruption, "{}: byte {} of {} cannot be read any more{}", path, fault.offset, mapped,
       kWhy);
}

// Of a thread: the way out of the read_mapped that is around, put back at the end of this one.
class WayOut {
 public:
  explicit WayOut(sigjmp_buf* here) : before_(t_way_out) { t_way_out = here; }
  ~WayOut() { t_way_out = before_; }
  WayOut(const WayOut&) = delete;
  WayOut& operator=(const WayOut&) = delete;

 private:
  sigjmp_buf* before_;
};

}  // namespace

MapGuard::MapGuard(const std::string& path, std::span<const std::byte> map) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  const auto begin = reinterpret_cast<std::uintptr_t>(map.data());
  const std::lock_guard lock(g_changes);
  range_ = unused_range();
  range_->path = path;
  range_->end.store(begin + map.size(), std::memory_order_release);
  range_->begin.store(begin, std::memory_order_release);
}

MapGuard::~MapGuard() {
  const std::lock_guard lock(g_changes);
  range_->begin.store(0, std::memory_order_release);
  range_->next_unused = std::exchange(g_unused, range_);
}

void fail_unreadable_map(const std::string& path, std::uint64_t size, std::uint64_t mapped) {
  fail(ErrorKind::Corruption, "{}: had {} bytes when it was opened and has {} now{}", path, mapped, size,
       kWhy);
}

void run_read_mapped(void (*body)(void*), void* argument) {
  sigjmp_buf here;
  const WayOut way_out(&here);
  if (sigsetjmp(here, 0) != 0) fail_fault(t_fault);
  body(argument);
}

}  // namespace bora
