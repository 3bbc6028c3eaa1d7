// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/process.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace bora::mesh {
namespace {

// A child that sleeps until it is killed.
class Child {
 public:
  Child() : number_(::fork()) {
    if (number_ == 0)
      for (;;) ::pause();
  }
  ~Child() {
    ::kill(number_, SIGKILL);
    ::waitpid(number_, nullptr, 0);
  }
  pid_t number() const { return number_; }
  void send(int signal, int wait_for) const {
    ::kill(number_, signal);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(number_), &info, wait_for | WNOWAIT);
  }

 private:
  pid_t number_;
};

TEST(Process, ThisOneRuns) {
  const auto me = this_process();
  EXPECT_EQ(me.number, ::getpid());
  EXPECT_EQ(me, this_process());
  EXPECT_EQ(state_of(me), ProcessState::runs);
}

TEST(Process, ANumberUsedAgainIsAnotherProcess) {
  auto other = this_process();
  other.started += 1;
  EXPECT_EQ(state_of(other), ProcessState::gone);
}

TEST(Process, AStoppedOneAndADeadOneAreSeen) {
  const Child child;
  const auto id = process_of(child.number());
  EXPECT_NE(id, this_process());
  EXPECT_EQ(state_of(id), ProcessState::runs);
  child.send(SIGSTOP, WSTOPPED);
  EXPECT_EQ(state_of(id), ProcessState::stopped);
  child.send(SIGCONT, WCONTINUED);
  EXPECT_EQ(state_of(id), ProcessState::runs);
  child.send(SIGKILL, WEXITED);
  EXPECT_EQ(state_of(id), ProcessState::gone);
}

TEST(Process, WhoCannotAskDoesNotSayThatItIsGone) {
  const auto me = this_process();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto state = state_of(me);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(state, ProcessState::unknown);
}

TEST(Process, NothingIsKnownOfAnotherMachine) {
  auto other = this_process();
  other.machine += 1;
  EXPECT_EQ(state_of(other), ProcessState::unknown);
  other.machine = 0;
  EXPECT_EQ(state_of(other), ProcessState::unknown);
}

}  // namespace
}  // namespace bora::mesh
