// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/path_pattern.h"

#include <gtest/gtest.h>

namespace bora {
namespace {

TEST(PathPattern, MatchesAPathOrAModuleAroundIt) {
  const std::string path = "layers.10.mlp.up_proj.weight";
  for (const auto* yes : {"layers.10.mlp.up_proj.weight", "layers", "layers.10", "layers.*.mlp", "*.up_proj",
                          "*", "*weight", "layers.1?.*", "l*s.*.m*p"})
    EXPECT_TRUE(path_matches(yes, path)) << yes;
  for (const auto* no :
       {"", "layers.1", "mlp", "up_proj", "layer", "layers.1?.mlp.up", "*.bias", "layers.10."})
    EXPECT_FALSE(path_matches(no, path)) << no;
  EXPECT_FALSE(path_matches("a*b*c*d*e*f*g*h", std::string(10000, 'a')));
}

TEST(PathPattern, SelectsAndTellsOfEveryPatternThatSelectsNothing) {
  const std::vector<std::string> paths{"embed.weight", "layers.0.attn.q_proj.weight",
                                       "layers.1.attn.q_proj.weight"};
  const std::vector<std::string> good{"embed", "layers.1"};
  const auto chosen = select_paths(good, paths, "parameter");
  EXPECT_EQ(chosen.selected, (std::vector<bool>{true, false, true}));
  EXPECT_TRUE(chosen.problems.empty());
  const std::vector<std::string> bad{"embde", "layers.*.atn", "*.k_proj", "zzzzzzzzzz"};
  EXPECT_EQ(select_paths(bad, paths, "parameter").problems,
            (std::vector<std::string>{"embde selects no parameter; did you mean `embed`?",
                                      "layers.*.atn selects no parameter; did you mean `layers.*.attn`?",
                                      "*.k_proj selects no parameter; did you mean `*.q_proj`?",
                                      "zzzzzzzzzz selects no parameter; the first one is embed.weight"}));
}

}  // namespace
}  // namespace bora
