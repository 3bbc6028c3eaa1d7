// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/error.h"

#include <gtest/gtest.h>

namespace bora {
namespace {

TEST(Error, FormatsItsMessage) {
  try {
    fail(ErrorKind::InvalidArgument, "dot: axis {} is {} but {}", "embed", 512, 768);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    EXPECT_STREQ(e.what(), "dot: axis embed is 512 but 768");
  }
}

TEST(Error, ContextGoesInFrontAndKeepsTheKind) {
  try {
    in_context("while restoring a from b", [] { fail(ErrorKind::Corruption, "hash differs"); });
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Corruption);
    EXPECT_STREQ(e.what(), "while restoring a from b: hash differs");
  }
}

TEST(Error, ContextReturnsWhatTheBodyReturns) {
  int value = 1;
  int& same = in_context("unused", [&]() -> int& { return value; });
  EXPECT_EQ(&same, &value);
}

TEST(Error, ExitCodes) {
  EXPECT_EQ(exit_code(ErrorKind::Usage), 2);
  EXPECT_EQ(exit_code(ErrorKind::Config), 2);
  EXPECT_EQ(exit_code(ErrorKind::NotFound), 3);
  EXPECT_EQ(exit_code(ErrorKind::Corruption), 3);
  EXPECT_EQ(exit_code(ErrorKind::NonFinite), 4);
  EXPECT_EQ(exit_code(ErrorKind::Stopped), 75);
  EXPECT_EQ(exit_code(ErrorKind::Io), 1);
  EXPECT_EQ(exit_code(ErrorKind::InvalidArgument), 1);
  EXPECT_EQ(exit_code(ErrorKind::Unsupported), 1);
}

}  // namespace
}  // namespace bora
