// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/typed_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"

namespace bora {
namespace {

struct Circle {
  double radius = 1;
  void bind(Binder& b) { b.field("radius", radius, kPositive, "from the middle"); }
};
struct Square {
  double side = 2;
  void bind(Binder& b) { b.field("side", side, kPositive, "of four"); }
};

struct ShapeType {
  AnyConfig<> config;
};

const Registry<ShapeType>& shapes() {
  static const auto all = [] {
    Registry<ShapeType> types("shape");
    types.add("circle", {Circle()});
    types.add("square", {Square{3}});
    return types;
  }();
  return all;
}

struct Shape {
  std::string type = "circle";
  AnyConfig<> config = Circle();
  void bind(Binder& b) {
    if (bind_type(b, type, config, shapes(), "what it looks like")) config.bind(b);
  }
};

struct File {
  std::vector<Shape> shapes;
  void bind(Binder& b) { b.field("shapes", shapes, "some"); }
};

std::vector<std::string> read(const std::string& yaml, File& file) {
  ConfigTree tree;
  tree.merge_text(yaml, "my.yaml");
  std::vector<std::string> lines;
  for (const auto& p : read_config(tree, file)) lines.push_back(p.where + " " + p.key + " " + p.message);
  return lines;
}

TEST(TypedConfig, ReadsTheStructOfTheType) {
  File file;
  EXPECT_THAT(read("shapes:\n  - {type: square}\n  - {radius: 5}\n  - {type: square, side: 7}\n", file),
              testing::IsEmpty());
  ASSERT_EQ(file.shapes.size(), 3u);
  EXPECT_EQ(file.shapes[0].config.as<Square>().side, 3);
  EXPECT_EQ(file.shapes[1].config.as<Circle>().radius, 5);
  EXPECT_EQ(file.shapes[2].config.as<Square>().side, 7);
}

TEST(TypedConfig, WritesWhatItReads) {
  File file;
  file.shapes = {{.type = "square", .config = Square{4}}};
  EXPECT_EQ(write_config(file), "shapes:\n  - type: square\n    side: 4\n");
}

TEST(TypedConfig, CopiesHaveTheirOwnValue) {
  const Shape one;
  Shape two = one;
  two.config.as<Circle>().radius = 9;
  EXPECT_EQ(one.config.as<Circle>().radius, 1);
}

TEST(TypedConfig, KeysOfAnUnknownType) {
  File file;
  EXPECT_THAT(
      read("shapes:\n  - {type: cube, side: 7, edge: 1}\n", file),
      testing::ElementsAre("my.yaml:2 shapes.0.type = cube cube is not built yet; available: circle, square; "
                           "without a known type its other keys were not looked at: side, edge"));
  EXPECT_THAT(read("shapes:\n  - {type: sqare, sid: 7}\n", file),
              testing::ElementsAre(testing::HasSubstr("did you mean `square`?"),
                                   "my.yaml:2 shapes.0.sid unknown key; did you mean shapes.0.side?"));
  EXPECT_THAT(read("shapes:\n  - {type: sqare, side: 7}\n  - {type: square, radius: 7}\n", file),
              testing::ElementsAre("my.yaml:2 shapes.0.type = sqare sqare is not known; did you mean "
                                   "`square`?; available: circle, square",
                                   "my.yaml:3 shapes.1.radius unknown key; valid here: type, side"));
  EXPECT_THAT(read("shapes:\n  - {type: {}, side: 7}\n", file),
              testing::ElementsAre(testing::HasSubstr("should be one of circle, square")));
}

TEST(TypedConfig, DescribesTheTypes) {
  EXPECT_THAT(describe_config(*std::make_unique<Shape>()),
              testing::HasSubstr("| `type` | one of circle, square | `circle` | what it looks like |"));
}

TEST(TypedConfig, AskedForAnotherStruct) {
  Shape shape;
  EXPECT_THROW(shape.config.as<Square>(), Error);
}

TEST(TypedConfig, LeftToAnotherProgramAnUnknownTypeEndsReading) {
  leave_unknown_types_to_others();
  File file;
  try {
    read("shapes:\n  - {type: cube}\n", file);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Unsupported);
    EXPECT_STREQ(e.what(), "cube is not built yet; available: circle, square");
  }
  leave_unknown_types_to_others(false);
}

}  // namespace
}  // namespace bora
