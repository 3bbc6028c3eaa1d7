// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/language_names.h"

#include <gtest/gtest.h>

namespace bora::run {
namespace {

TEST(LanguageNames, HaveCodes) {
  for (const std::string name : {"de", "DE", "German", "german", "<|de|>"})
    EXPECT_EQ(language_code(name), "de") << name;
  EXPECT_EQ(language_code("Haitian Creole"), "ht");
  EXPECT_EQ(language_code("castilian"), "es");
  EXPECT_EQ(language_code("Klingon"), "klingon");
  EXPECT_EQ(language_code(""), "");
}

}  // namespace
}  // namespace bora::run
