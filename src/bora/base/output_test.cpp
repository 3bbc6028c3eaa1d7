// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "bora/base/file.h"
#include "bora/base/log.h"

namespace bora {
namespace {

// In a process of its own, which ends with exit code 0: what is lost stays lost.
class OutputDeathTest : public testing::Test {
 protected:
  OutputDeathTest() : log_(path_join(testing::TempDir(), "bora_output_log.txt")) { remove_all(log_); }
  ~OutputDeathTest() override { remove_all(log_); }
  static void close_reader_of(int descriptor) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    ::dup2(ends[1], descriptor);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  std::string log_;
};

TEST_F(OutputDeathTest, GoesOnInAFileOnceNobodyReads) {
  const auto body = [this] {
    close_reader_of(STDOUT_FILENO);
    outlive_readers();
    write_output(Output::Standard, "early\n");
    continue_output_in(log_);
    write_output(Output::Standard, "late\n");
    write_output(Output::Error, "still heard\n");
    std::_Exit(output_is_lost(Output::Standard) && !output_is_lost(Output::Error) && output_error() == 0 ? 0
                                                                                                         : 1);
  };
  EXPECT_EXIT(
      body(), testing::ExitedWithCode(0),
      "bora: nobody reads standard output any more; it goes on in .*bora_output_log.txt\nstill heard");
  EXPECT_EQ(read_text(log_), "early\nlate\n");
}

TEST_F(OutputDeathTest, WarningsGoThereToo) {
  const auto body = [this] {
    continue_output_in(log_);
    close_reader_of(STDOUT_FILENO);
    close_reader_of(STDERR_FILENO);
    outlive_readers();
    write_output(Output::Standard, "one\n");
    log_warning("two");
    write_output(Output::Standard, "three\n");
    std::_Exit(0);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(read_text(log_), "one\nbora: warning: two\nthree\n");
}

TEST_F(OutputDeathTest, AStreamThatWasClosedTakesNothing) {
  const auto body = [this] {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO}) ::close(descriptor);
    hold_standard_streams();
    const int next = ::dup(STDERR_FILENO);  // a file of a run, say
    char byte = 0;
    if (next <= STDERR_FILENO || ::read(STDIN_FILENO, &byte, 1) != 0) std::_Exit(2);
    write_output(Output::Standard, "one\n");
    continue_output_in(log_);
    std::_Exit(output_is_lost(Output::Standard) && !output_is_lost(Output::Error) ? 0 : 1);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0),
              "bora: nobody reads standard output any more; it goes on in .*");
  EXPECT_EQ(read_text(log_), "one\n");
}

TEST_F(OutputDeathTest, AFullDiskIsNoLoss) {
  if (!exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto body = [this] {
    continue_output_in(log_);
    if (std::freopen("/dev/full", "w", stdout) == nullptr) std::_Exit(2);
    write_output(Output::Standard, "one\n");
    std::_Exit(!output_is_lost(Output::Standard) && output_error() == ENOSPC ? 0 : 1);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
  EXPECT_FALSE(exists(log_));
}

TEST_F(OutputDeathTest, AClosedPipeEndsWhoDoesNotOutliveIt) {
  const auto body = [] {
    ::signal(SIGPIPE, SIG_DFL);
    close_reader_of(STDOUT_FILENO);
    write_output(Output::Standard, "one\n");
    std::_Exit(0);
  };
  EXPECT_EXIT(body(), testing::KilledBySignal(SIGPIPE), "");
}

}  // namespace
}  // namespace bora
