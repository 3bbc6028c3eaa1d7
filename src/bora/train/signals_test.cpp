// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace bora::train {
namespace {

TEST(StopSignals, EachAsksForAStop) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    testing::internal::CaptureStderr();
    const StopSignals signals;
    EXPECT_FALSE(StopSignals::requested());
    ::raise(signal);
    EXPECT_TRUE(StopSignals::requested()) << signal;
    testing::internal::GetCapturedStderr();
  }
}

TEST(StopSignals, HangUpsStayIgnored) {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  {
    const StopSignals signals;
    ::raise(SIGHUP);
    EXPECT_FALSE(StopSignals::requested());
  }
  EXPECT_EQ(::signal(SIGHUP, before), SIG_IGN);
}

TEST(StopSignalsDeathTest, WhatWasBeforeComesBack) {
  const auto body = [] {
    { const StopSignals signals; }
    ::raise(SIGHUP);
    std::_Exit(0);
  };
  EXPECT_EXIT(body(), testing::KilledBySignal(SIGHUP), "");
}

}  // namespace
}  // namespace bora::train
