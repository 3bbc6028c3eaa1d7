// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bora {
namespace {

TEST(Registry, KeepsTheOrderOfItsEntries) {
  Registry<int> numbers("number");
  EXPECT_EQ(numbers.find("two"), nullptr);
  numbers.add("two", 2);
  numbers.add("one", 1);
  EXPECT_THAT(numbers.names(), testing::ElementsAre("two", "one"));
  ASSERT_NE(numbers.find("one"), nullptr);
  EXPECT_EQ(*numbers.find("one"), 1);
}

TEST(Registry, ANameStandsForOneThing) {
  Registry<int> numbers("number");
  numbers.add("one", 1);
  try {
    numbers.add("one", 2);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    EXPECT_STREQ(e.what(), "number one is registered twice\nhint: give one of them another name");
  }
  EXPECT_EQ(*numbers.find("one"), 1);
}

TEST(Registry, SaysWhatThereIsInPlaceOfAnUnknownName) {
  Registry<int> numbers("number");
  numbers.add("seven", 7);
  numbers.add("eight", 8);
  EXPECT_EQ(numbers.unknown("sevn"), "sevn is not known; did you mean `seven`?; available: seven, eight");
  EXPECT_EQ(numbers.unknown("x"), "x is not built yet; available: seven, eight");
}

}  // namespace
}  // namespace bora
