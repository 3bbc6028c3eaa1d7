// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/hash.h"
#include "bora/base/text.h"

namespace bora::mesh {
namespace {

// The beginning of a file that tells no size, as those of /proc; nothing if it is not there. Io if this process cannot
// read it.
std::optional<std::string> head_of(const std::string& path) {
  try {
    std::array<char, 1024> text{};
    const auto n = files().open(path)->read_at(0, std::as_writable_bytes(std::span(text)));
    return std::string(text.data(), n);
  } catch (const Error&) {
    if (exists(path)) throw;
    return std::nullopt;
  }
}

struct Stat {
  char state = '?';
  std::uint64_t started = 0;
};

// proc(5): the second field is the program's name in brackets and may hold anything; the third is the state,
// the 22nd the start.
std::optional<Stat> stat_of(std::int64_t number) {
  const auto text = head_of(fmt::format("/proc/{}/stat", number));
  const auto name_end = text ? text->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return std::nullopt;
  const auto fields = split(trim(std::string_view(*text).substr(name_end + 1)), ' ');
  if (fields.size() < 20 || fields[0].size() != 1) return std::nullopt;
  return Stat{fields[0][0], static_cast<std::uint64_t>(parse_int(fields[19]).value_or(0))};
}

// Nothing, too, where this process cannot read what is there.
template <class Read>
auto if_readable(const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Containers of one machine share its boot but not its process numbers.
std::uint64_t this_machine() {
  const auto boot = if_readable([] { return head_of("/proc/sys/kernel/random/boot_id"); });
  std::array<char, 128> space{};
  const auto length = ::readlink("/proc/self/ns/pid", space.data(), space.size());
  if (!boot || length <= 0) return 0;
  return hash128(*boot + std::string(space.data(), static_cast<std::size_t>(length))).low;
}

}  // namespace

ProcessIdentity this_process() { return process_of(::getpid()); }

ProcessIdentity process_of(std::int64_t number) {
  const auto stat = if_readable([&] { return stat_of(number); });
  return {stat ? this_machine() : 0, stat ? stat->started : 0, number};
}

ProcessState state_of(const ProcessIdentity& process) {
  static const std::uint64_t here = this_machine();
  if (process.machine == 0 || process.machine != here) return ProcessState::unknown;
  std::optional<Stat> stat;
  try {
    stat = stat_of(process.number);
  } catch (const Error&) {  // this process has no more files, or no memory: the other one may well live
    return ProcessState::unknown;
  }
  if (!stat || stat->started != process.started) return ProcessState::gone;
  switch (stat->state) {
    case 'Z':
    case 'X':
      return ProcessState::gone;
    case 'T':
    case 't':
      return ProcessState::stopped;
    default:
      return ProcessState::runs;
  }
}

}  // namespace bora::mesh
