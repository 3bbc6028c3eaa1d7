// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/log.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace bora {
namespace {

std::string logged(const auto& body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

TEST(Log, LinesCarryAPrefix) {
  EXPECT_EQ(logged([] { log_info("step {}", 3); }), "bora: step 3\n");
  EXPECT_EQ(logged([] { log_warning("{} is slow", "disk"); }), "bora: warning: disk is slow\n");
}

TEST(Log, FurtherLinesAreIndented) {
  EXPECT_EQ(logged([] { log_line("dot: wrong\nhint: right"); }), "bora: dot: wrong\n      hint: right\n");
}

TEST(Log, QuietKeepsWarnings) {
  set_quiet(true);
  EXPECT_EQ(logged([] {
              log_info("hello");
              log_warning("careful");
            }),
            "bora: warning: careful\n");
  set_quiet(false);
  EXPECT_EQ(logged([] { log_info("hello"); }), "bora: hello\n");
}

TEST(Log, HooksSurroundALine) {
  set_log_hooks([] { std::fputs("<", stderr); }, [] { std::fputs(">", stderr); });
  EXPECT_EQ(logged([] { log_info("x"); }), "<bora: x\n>");
  set_log_hooks(nullptr, nullptr);
  EXPECT_EQ(logged([] { log_info("x"); }), "bora: x\n");
}

}  // namespace
}  // namespace bora
