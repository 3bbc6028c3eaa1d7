// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/stop_strings.h"

#include <gtest/gtest.h>

namespace bora::infer {
namespace {

std::string all_of(StopStrings stops, const std::string& text, std::size_t part) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += part) out += stops.push(text.substr(at, part));
  return out + stops.finish();
}

TEST(StopStrings, HoldBackWhatMayBecomeOne) {
  StopStrings stops({"\nUser:"});
  EXPECT_EQ(stops.push("Hello\n"), "Hello");
  EXPECT_EQ(stops.push("Use"), "");
  EXPECT_EQ(stops.push(" it\nU"), "\nUse it");
  EXPECT_FALSE(stops.found());
  EXPECT_EQ(stops.push("ser: and more"), "");
  EXPECT_TRUE(stops.found());
  EXPECT_EQ(stops.push("nothing"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, WhatIsHeldBackComesAtTheEnd) {
  StopStrings stops({"###"});
  EXPECT_EQ(stops.push("a##"), "a");
  EXPECT_EQ(stops.finish(), "##");
}

TEST(StopStrings, TheTextDoesNotDependOnItsParts) {
  const std::string text = "one aab two aaab three END four";
  for (std::size_t part = 1; part < text.size() + 1; ++part) {
    EXPECT_EQ(all_of(StopStrings({"aaab"}), text, part), "one aab two ");
    EXPECT_EQ(all_of(StopStrings({"three END", "END", "e E"}), text, part), "one aab two aaab thre");
    EXPECT_EQ(all_of(StopStrings({"D", "END"}), text, part), "one aab two aaab three ");
    EXPECT_EQ(all_of(StopStrings({"no such"}), text, part), text);
    EXPECT_EQ(all_of(StopStrings({}), text, part), text);
    EXPECT_EQ(all_of(StopStrings({""}), text, part), text);
  }
}

}  // namespace
}  // namespace bora::infer
