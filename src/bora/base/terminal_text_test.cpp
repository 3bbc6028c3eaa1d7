// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/terminal_text.h"

#include <gtest/gtest.h>

namespace bora {
namespace {

TEST(TerminalText, HasNoControls) {
  EXPECT_EQ(without_controls("a\x1b[2J\a b\r\n\tc\x7f"), "a\\x1b[2J\\x07 b\\x0d\n\tc\\x7f");
  EXPECT_EQ(without_controls("\xc2\x9b"
                             "31m caf\xc3\xa9 \xc2\xa0 \xc2"),
            "\\x9b31m caf\xc3\xa9 \xc2\xa0 \xc2");
  EXPECT_EQ(without_controls(""), "");
}

}  // namespace
}  // namespace bora
