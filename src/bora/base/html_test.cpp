// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/html.h"

#include <gtest/gtest.h>

namespace bora {
namespace {

TEST(HtmlText, ShowsTextAsItIs) {
  EXPECT_EQ(html_text("a <b> & \"c\"\n\td"), "a &lt;b&gt; &amp; &quot;c&quot;\n\td");
  EXPECT_EQ(html_text(std::string_view("\x01 \0", 3)), "\ufffd \ufffd");
  EXPECT_EQ(html_text("\u00e9"), "\u00e9");
  EXPECT_EQ(html_text(""), "");
}

}  // namespace
}  // namespace bora
