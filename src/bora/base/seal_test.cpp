// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/seal.h"

#include <gtest/gtest.h>

#include "bora/base/json.h"

namespace bora {
namespace {

const Json kObject{{"format", "a"}, {"numbers", {1, 2}}};

TEST(Seal, IsTheLastMember) {
  for (const int indent : {1, 2}) {
    const std::string text = sealed(kObject.dump(indent), indent);
    EXPECT_EQ(seal_of(text), Seal::Fits) << text;
    Json read = parse_json(text, "text");
    EXPECT_EQ(read.at("hash").get<std::string>().size(), 32U);
    read.erase("hash");
    EXPECT_EQ(read, kObject);
  }
}

// A bit of the seal may make it none; what stands before it is then what it was.
TEST(Seal, NoChangedBitFits) {
  const std::string text = sealed(kObject.dump(2), 2);
  const std::size_t body = text.rfind(",\n");
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const Seal found = seal_of(flipped);
    EXPECT_NE(found, Seal::Fits) << bit;
    if (bit / 8 < body) {
      EXPECT_EQ(found, Seal::Broken) << bit;
    }
  }
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_NE(seal_of(text.substr(0, size)), Seal::Fits) << size;
}

TEST(Seal, TextsWithout) {
  for (const char* text : {"", "{}", ",\n", "{\n  \"a\": 1\n}\n", "{\"a\": 1,\n  \"hash\": \"12\"\n}\n"})
    EXPECT_EQ(seal_of(text), Seal::None) << text;
}

}  // namespace
}  // namespace bora
