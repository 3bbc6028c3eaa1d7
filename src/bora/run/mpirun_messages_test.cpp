// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/mpirun_messages.h"

#include <gtest/gtest.h>

namespace bora::run {
namespace {

const std::string kFrame = std::string(74, '-') + "\n";
const std::string kAborted = kFrame +
                             "Primary job  terminated normally, but 1 process returned\n"
                             "a non-zero exit code. Per user-direction, the job has been aborted.\n" +
                             kFrame;
const std::string kKilled =
    kFrame + "mpirun noticed that process rank 1 with PID 0 on node b exited on signal 9 (Killed).\n" +
    kFrame;
const std::string kFailed =
    kFrame +
    "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
    "the job to be terminated. The first process to do so was:\n\n"
    "  Process name: [[7709,1],2]\n  Exit code:    4\n" +
    kFrame;
const std::string kOther = kFrame + "There are not enough slots available\n" + kFrame;

struct Heard {
  std::string passed, killed, failed;
};

Heard hear(const std::string& text, std::size_t piece, bool all = false) {
  Heard out;
  MpirunMessages messages([&](std::string_view bytes) { out.passed += bytes; }, all);
  for (std::size_t at = 0; at < text.size(); at += piece)
    messages.take(std::string_view(text).substr(at, piece));
  messages.end();
  out.killed = messages.killed();
  out.failed = messages.failed();
  return out;
}

TEST(MpirunMessages, NameWhoWasLost) {
  for (const std::size_t piece : {1U, 7U, 10000U}) {
    const auto heard = hear("one\n" + kAborted + kKilled + "two\n", piece);
    EXPECT_EQ(heard.passed, "one\ntwo\n");
    EXPECT_EQ(heard.killed, "worker 1 (host b)");
    EXPECT_EQ(heard.failed, "");
  }
  const auto failed = hear(kAborted + kFailed, 5);
  EXPECT_EQ(failed.passed, "");
  EXPECT_EQ(failed.killed, "");
  EXPECT_EQ(failed.failed, "worker 2");
}

TEST(MpirunMessages, AHostThatIsNotReached) {
  const std::string words =
      kFrame + "ORTE was unable to reliably start one or more daemons.\nThis usually is caused by:\n" +
      kFrame;
  std::string passed;
  MpirunMessages messages([&](std::string_view bytes) { passed += bytes; }, false);
  messages.take("ssh: Could not resolve hostname foo\n" + words);
  messages.end();
  EXPECT_TRUE(messages.unreached());
  EXPECT_EQ(passed, "ssh: Could not resolve hostname foo\n");
}

TEST(MpirunMessages, OtherWordsPassUnchanged) {
  const std::string words = "a line\n\n--- dashes\n" + kOther + "mpirun: Error: no\n" + std::string(74, '-') +
                            "\nnever closed\nno line feed";
  for (const std::size_t piece : {1U, 9U, 10000U}) EXPECT_EQ(hear(words, piece).passed, words);
  const auto all = kKilled + "mpirun: Forwarding signal 10 to job\n";
  EXPECT_EQ(hear(all, 3, true).passed, all);
  EXPECT_EQ(hear(all, 3, true).killed, "worker 1 (host b)");
  EXPECT_EQ(hear("mpirun: Forwarding signal 10 to job\nx\n", 3).passed, "x\n");
  const std::string longest = kFrame + std::string(20000, 'x') + "\n" + kFrame;
  EXPECT_EQ(hear(longest, 100).passed, longest);
}

TEST(MpirunMessages, TheBeginningOfALineDoesNotWait) {
  std::string passed;
  MpirunMessages messages([&](std::string_view bytes) { passed += bytes; }, false);
  messages.take("step 1");
  EXPECT_EQ(passed, "step 1");
  messages.take(" of 2\n--");
  EXPECT_EQ(passed, "step 1 of 2\n");
  messages.take(" more");
  EXPECT_EQ(passed, "step 1 of 2\n-- more");
}

}  // namespace
}  // namespace bora::run
