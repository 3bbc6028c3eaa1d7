// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The messages of Open MPI's mpirun that are meant:
//
//   Primary job  terminated normally, but 1 process returned a non-zero exit code. ...
//   mpirun noticed that process rank 1 with PID 0 on node b exited on signal 9 (Killed).
//   ORTE was unable to reliably start one or more daemons. ...
//   mpirun detected that one or more processes exited with non-zero status, ... Process name: [[7709,1],1]
//   ... mpirun: Forwarding signal 10 to job                     (a line without a frame)
#include "bora/run/mpirun_messages.h"

#include <fmt/core.h>

#include <array>
#include <regex>
#include <utility>

namespace bora::run {
namespace {

constexpr std::size_t kLongestBlock = 8192;  // a worker may print a line of dashes too

const std::string& dashes() {
  static const std::string line(74, '-');
  return line;
}

constexpr std::array<std::string_view, 2> kChatter = {"mpirun: Forwarding signal ", "mpirun: killing job"};

bool may_begin(std::string_view line, std::string_view what) {
  return line.size() < what.size() ? what.starts_with(line) : line.starts_with(what);
}

// Whether the beginning of a line may become one that is kept back.
bool is_open(std::string_view line) {
  if (may_begin(line, dashes())) return true;
  for (const auto words : kChatter)
    if (may_begin(line, words)) return true;
  return false;
}

bool is_chatter(std::string_view line) {
  for (const auto words : kChatter)
    if (line.starts_with(words)) return true;
  return false;
}

}  // namespace

MpirunMessages::MpirunMessages(std::function<void(std::string_view)> pass_on, bool all)
    : pass_on_(std::move(pass_on)), all_(all) {}

void MpirunMessages::give(std::string_view text) const {
  if (!text.empty()) pass_on_(text);
}

void MpirunMessages::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const bool whole = end != bytes.npos;
    const auto part = bytes.substr(0, whole ? end + 1 : bytes.size());
    bytes.remove_prefix(part.size());
    if (midway_) {
      give(part);
      midway_ = !whole;
      continue;
    }
    line_ += part;
    if (whole) {
      take_line(std::exchange(line_, {}));
    } else if (!in_block_ && !is_open(line_)) {
      give(std::exchange(line_, {}));
      midway_ = true;
    }
  }
}

// With its line feed.
void MpirunMessages::take_line(std::string_view line) {
  const bool frame = line == dashes() + "\n";
  if (in_block_) {
    block_ += line;
    if (frame)
      end_of_block();
    else if (block_.size() > kLongestBlock)
      give(std::exchange(block_, {})), in_block_ = false;
  } else if (frame) {
    in_block_ = true;
    block_ = line;
  } else if (all_ || !is_chatter(line)) {
    give(line);
  }
}

void MpirunMessages::end_of_block() {
  static const std::regex killed(
      R"(noticed that process rank (\d+) with PID \d+ on node (\S+)\s+exited on signal)");
  static const std::regex failed(R"(exited with non-zero status[^\[]*Process name:\s*\[\[\d+,\d+\],(\d+)\])");
  const auto block = std::exchange(block_, {});
  in_block_ = false;
  std::smatch found;
  bool known = block.find("Per user-direction, the job has been aborted") != block.npos;
  if (block.find("unable to reliably start one or more daemons") != block.npos) known = unreached_ = true;
  if (std::regex_search(block, found, killed)) {
    known = true;
    if (killed_.empty()) killed_ = fmt::format("worker {} (host {})", found.str(1), found.str(2));
  } else if (std::regex_search(block, found, failed)) {
    known = true;
    if (failed_.empty()) failed_ = fmt::format("worker {}", found.str(1));
  }
  if (all_ || !known) give(block);
}

void MpirunMessages::end() {
  give(std::exchange(block_, {}));
  give(std::exchange(line_, {}));
  in_block_ = midway_ = false;
}

}  // namespace bora::run
