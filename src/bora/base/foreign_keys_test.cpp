// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/foreign_keys.h"

#include <gtest/gtest.h>

namespace bora {
namespace {

TEST(ForeignKeys, AreFoundAsTheyAreTyped) {
  ASSERT_NE(foreign_key("lr"), nullptr);
  EXPECT_EQ(foreign_key("lr")->key, "optimizer.learning_rate");
  EXPECT_EQ(foreign_key("Output-Dir")->key, "trainer.checkpointer.base_path");
  EXPECT_EQ(foreign_key("bf16")->value, "p=f32,c=bf16");
  EXPECT_EQ(foreign_key(""), nullptr);
  EXPECT_EQ(foreign_key("model"), nullptr);
}

}  // namespace
}  // namespace bora
