// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Looking after the processes of one machine: who has died or was stopped need not be waited for.
#pragma once
#include <cstdint>
#include <type_traits>

namespace bora::mesh {

/// A process, told apart from any other that has had its number. Plain bytes, to be sent to others.
struct ProcessIdentity {
  std::uint64_t machine = 0;  ///< hash of this boot of the machine and the space of process numbers
  std::uint64_t started = 0;  ///< in clock ticks since the boot
  std::int64_t number = 0;
  bool operator==(const ProcessIdentity&) const = default;
};
static_assert(std::is_trivially_copyable_v<ProcessIdentity>);

ProcessIdentity this_process();
/// Of this machine; all zero but for its number if there is none.
ProcessIdentity process_of(std::int64_t number);

enum class ProcessState {
  unknown,  ///< on another machine, or the system does not tell, or this process cannot ask
  runs,
  stopped,  ///< by a signal or a debugger
  gone,
};
ProcessState state_of(const ProcessIdentity& process);

}  // namespace bora::mesh
