// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bora/base/config.h"
#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora {
namespace {

ConfigTree tree_of(std::string_view yaml) {
  ConfigTree tree;
  tree.merge_text(yaml, "my.yaml");
  return tree;
}

std::string message_of(const auto& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Config);
    return e.what();
  }
  return "no error";
}

constexpr std::string_view kSyntaxHint =
    "\nhint: look here and a line above: keys of a block begin in one column, a colon has a space behind it, "
    "brackets and quotes are closed";

std::string parse_error(std::string_view yaml) {
  return message_of([&] { tree_of(yaml); });
}

std::string brackets(std::size_t pairs, std::string_view inside = "") {
  return fmt::format("{}{}{}", std::string(pairs, '['), inside, std::string(pairs, ']'));
}

TEST(ConfigTree, KnowsWhereValuesStand) {
  const auto tree = tree_of("a:\n  b:\n    - 1\n    - x: 2\n\n# words\nc: 'it''s'\nd: ~\n");
  EXPECT_EQ(tree.where("a"), "my.yaml:1");
  EXPECT_EQ(tree.where("a.b"), "my.yaml:2");
  EXPECT_EQ(tree.where("a.b.0"), "my.yaml:3");
  EXPECT_EQ(tree.where("a.b.1.x"), "my.yaml:4");
  EXPECT_EQ(tree.where("a.b.1.y.z"), "my.yaml:4");
  EXPECT_EQ(tree.where("no.such"), "my.yaml:1");
  EXPECT_EQ(tree.where("c"), "my.yaml:7");
  EXPECT_EQ(tree.scalar("c"), "it's");
  EXPECT_EQ(tree.scalar("a.b.1.x"), "2");
  EXPECT_EQ(tree.scalar("a"), std::nullopt);
  EXPECT_EQ(tree.scalar("d"), std::nullopt);
  EXPECT_TRUE(tree.has("d"));
  EXPECT_TRUE(tree.has("a.b.1"));
  EXPECT_FALSE(tree.has("a.b.2"));
  EXPECT_FALSE(tree.has("a.b.-1"));
}

TEST(ConfigTree, FindsKeysThatHoldDots) {
  const auto tree = tree_of("configs:\n  v1.5: {id: x}\n  v1: {id: y}\n");
  EXPECT_EQ(tree.scalar("configs.v1.5.id"), "x");
  EXPECT_EQ(tree.scalar("configs.v1.id"), "y");
}

TEST(ConfigTree, Empty) {
  EXPECT_TRUE(ConfigTree().empty());
  EXPECT_TRUE(tree_of("").empty());
  EXPECT_TRUE(tree_of("{}").empty());
  EXPECT_FALSE(tree_of("a: 1").empty());
  EXPECT_EQ(ConfigTree().yaml(), "{}\n");
  EXPECT_EQ(ConfigTree().where("a"), "");
  EXPECT_FALSE(ConfigTree().has("a"));
}

TEST(ConfigTree, CopiesAreIndependent) {
  auto tree = tree_of("a: 1");
  ConfigTree copy = tree;
  copy.override_value("a", "2");
  EXPECT_EQ(tree.scalar("a"), "1");
  tree = copy;
  EXPECT_EQ(tree.scalar("a"), "2");
  const ConfigTree moved = std::move(copy);
  EXPECT_EQ(moved.scalar("a"), "2");
}

TEST(ConfigTree, LaterFilesWinKeyByKey) {
  auto tree = tree_of("a: {b: 1, c: [1, 2]}\nd: {e: 1}\nf: 1");
  tree.merge_text("a: {c: [3], g: 4}\nd: 5\nf: {h: 1}", "over.yaml");
  EXPECT_EQ(tree.yaml(), "a:\n  b: 1\n  c: [3]\n  g: 4\nd: 5\nf:\n  h: 1\n");
  EXPECT_EQ(tree.where("a.b"), "my.yaml:1");
  EXPECT_EQ(tree.where("a.c"), "over.yaml:1");
  EXPECT_EQ(tree.where("d"), "over.yaml:2");
  tree.merge_text("", "empty.yaml");
  EXPECT_TRUE(tree.has("a.b"));
  tree.merge_text("a:", "null.yaml");
  EXPECT_FALSE(tree.has("a.b"));
}

TEST(ConfigTree, OverridesReplace) {
  auto tree = tree_of("data: {train_urls: [a, b], weights: {x: 1}}\nlist: [[0, {w: 1}], 5]");
  tree.override_value("data.train_urls", "[\"my/*.txt\"]");
  tree.override_value("data.weights", "{z: 2}");
  tree.override_value("list.0.1.w", "7");
  tree.override_value("list.1", "6");
  tree.override_value("new.section.key", "p=f32,c=bfloat16");
  tree.override_value("nothing", "");
  EXPECT_EQ(tree.yaml(),
            "data:\n  train_urls: [my/*.txt]\n  weights:\n    z: 2\nlist:\n  - - 0\n    - w: 7\n  - 6\n"
            "new:\n  section:\n    key: \"p=f32,c=bfloat16\"\nnothing: null\n");
  EXPECT_EQ(tree.where("data.train_urls"), "--data.train_urls");
  EXPECT_EQ(tree.where("data.train_urls.0"), "--data.train_urls");
  EXPECT_EQ(tree.where("new.section"), "--new.section.key");
  EXPECT_EQ(tree.where("list"), "my.yaml:2");
}

TEST(ConfigTree, OverridesThatLeadNowhere) {
  auto tree = tree_of("a: 5\nb: [1, 2]\nc: x");
  EXPECT_EQ(message_of([&] { tree.override_value("a.x", "1"); }), "--a.x: a is 5 (my.yaml:1), not a map");
  EXPECT_EQ(message_of([&] { tree.override_value("c.x.y", "1"); }),
            "--c.x.y: c is \"x\" (my.yaml:3), not a map");
  EXPECT_EQ(message_of([&] { tree.override_value("b.2", "1"); }),
            "--b.2: b is a list of 2 (my.yaml:2): its items are 0 to 1");
  EXPECT_EQ(message_of([&] { tree.override_value("b.x.y", "1"); }),
            "--b.x.y: b is a list of 2 (my.yaml:2): its items are 0 to 1");
  EXPECT_EQ(message_of([&] { tree.override_value("a..b", "1"); }).substr(0, 6), "--a..b");
  EXPECT_EQ(message_of([&] { tree.override_value("", "1"); }), "--: a part of the key is empty");
  EXPECT_EQ(message_of([&] { tree.override_value("d.", "1"); }), "--d.: a part of the key is empty");
  EXPECT_EQ(message_of([&] { tree.override_value("a", "[1"); }),
            "--a: not valid YAML: end of sequence flow not found\n"
            "hint: the value in quotation marks, as in --key.name='[1, 2]'");
  EXPECT_EQ(message_of([&] { tree.override_value("a", "{b: 1, b: 2}"); }),
            "--a has 1 problem; nothing was started.\n  --a   b  given twice");
  auto list = tree_of("[1]");
  EXPECT_EQ(message_of([&] { list.override_value("x", "1"); }),
            "--x: the configuration is a list of 1 (my.yaml:1): its items are 0 to 0");
}

TEST(ConfigTree, AnchorsAndMergeKeys) {
  const auto tree = tree_of(
      "base: &b {x: 1, y: 2}\nother: &o {y: 3, z: 4}\nsame: *b\n"
      "one: {<<: *b, x: 5}\nboth:\n  <<: [*b, *o]\n  w: 6\nlist: [&n 7, *n]\nquoted: {\"<<\": 1}\n");
  EXPECT_EQ(tree.scalar("same.y"), "2");
  EXPECT_EQ(tree.where("same"), "my.yaml:3");
  EXPECT_EQ(tree.scalar("one.x"), "5");
  EXPECT_EQ(tree.scalar("one.y"), "2");
  EXPECT_EQ(tree.scalar("both.y"), "2");  // the earlier wins
  EXPECT_EQ(tree.scalar("both.z"), "4");
  EXPECT_FALSE(tree.has("both.<<"));
  EXPECT_EQ(tree.scalar("list.1"), "7");
  EXPECT_EQ(tree.scalar("quoted.<<"), "1");
  EXPECT_EQ(parse_error("a:\n  <<: 5\n"),
            "my.yaml has 1 problem; nothing was started.\n"
            "  my.yaml:2   a.<<  should be a map or a list of maps but is 5");
}

// Lists of lists, each ten times the one before.
std::string bomb(int lists) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < lists; ++i) {
    text += fmt::format(
        "a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  }
  return text;
}

TEST(ConfigTree, BoundedExpansion) {
  EXPECT_EQ(parse_error(bomb(9)), "my.yaml:6: more than 1,000,000 values");
  EXPECT_EQ(parse_error("a: &a [*a]"), "my.yaml:1: an alias inside the value that it stands for");
  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 70; ++i) deep += fmt::format("a{}: &a{} [*a{}]\n", i, i, i - 1);
  EXPECT_EQ(parse_error(deep), "my.yaml:64: nested deeper than 64 levels");
}

TEST(ConfigTree, Depth) {
  EXPECT_EQ(parse_error(brackets(64)), "no error");
  EXPECT_EQ(parse_error(fmt::format("\n{}", brackets(65))), "my.yaml:2: nested deeper than 64 levels");
  EXPECT_EQ(parse_error(std::string(100000, '[')), "my.yaml:1: nested deeper than 64 levels");
  EXPECT_EQ(parse_error(std::string(100000, '{')), "my.yaml:1: nested deeper than 64 levels");
}

TEST(ConfigTree, QuotedLineBreaksAreFoldedAsYamlSays) {
  const auto value = [](const std::string& quoted) {
    ConfigTree tree;
    tree.merge_text("a: " + quoted + "\nb: 1\n", "my.yaml");
    return tree.scalar("a").value_or("none");
  };
  EXPECT_EQ(value("'\n\n  '"), "\n") << "as PyYAML writes one";
  EXPECT_EQ(value("\"\n\n\n  \""), "\n\n");
  EXPECT_EQ(value("'\n  '"), " ");
  EXPECT_EQ(value("'  '"), "  ");
  EXPECT_EQ(value("''"), "");
  EXPECT_EQ(value("\"\\\n  \""), "") << "a break that is escaped is none";
  EXPECT_EQ(value("\"x\n\n  \""), "x\n");
  EXPECT_EQ(value("\"\n\n  x\""), "\nx");
  EXPECT_EQ(value("\"\\n\""), "\n");
}

TEST(ConfigTree, SyntaxErrors) {
  const auto hint = std::string(kSyntaxHint);
  EXPECT_EQ(parse_error("a: 1\nb: [1, 2\nc: 3\n"),
            "my.yaml:3: not valid YAML: end of sequence flow not found" + hint);
  EXPECT_EQ(parse_error("a: 1\n b: 2\n"), "my.yaml:2: not valid YAML: illegal map value" + hint);
  EXPECT_EQ(parse_error("a:\n\tb: 2\n"),
            "my.yaml:2: not valid YAML: illegal map value\n"
            "hint: the line begins with a tab; YAML indents by spaces");
  EXPECT_EQ(parse_error("a: *nobody"),
            "my.yaml:1: not valid YAML: the referenced anchor is not defined" + hint);
  EXPECT_EQ(
      parse_error("a: 1\n---\nb: 2\n"),
      "my.yaml:2: a second YAML document (---); a configuration is one\nhint: take the line out, or make two "
      "files: bora train a.yaml b.yaml, of which the later one wins");
  EXPECT_EQ(parse_error("---\na: 1\n"), "no error");
  EXPECT_EQ(parse_error("[a, b]: 1"), "my.yaml:1: a key must be a single word or text");
  EXPECT_EQ(parse_error("? {a: 1}\n: 1"), "my.yaml:1: a key must be a single word or text");
  EXPECT_EQ(parse_error("~: 1"), "my.yaml:1: a key must be a single word or text");
  EXPECT_EQ(parse_error(" :\n, 1}\n- ["), "my.yaml:1: a key must be a single word or text");  // did not end
  EXPECT_EQ(parse_error("&a b: 1\n*a : 2"), "my.yaml:2: a key must be a single word or text");
  EXPECT_EQ(parse_error(fmt::format("'{}': 1", std::string(201, 'x'))),
            "my.yaml:1: a key of 201 characters; is a quote missing?");
  // yaml-cpp sees the end of the text only where no line ends before it.
  for (const char* open : {"a: 1\nb: \"two\n", "a: 1\nb: \"two\\\"\n", "a: 1\nb: &x \"two\nc: 3\n",
                           "\xEF\xBB\xBF"
                           "a: 1\nb: \"two\n"})
    EXPECT_EQ(parse_error(open),
              "my.yaml:2: the quotation mark \" that begins here is never closed\n"
              "hint: put a second one behind the value")
        << open;
  EXPECT_EQ(parse_error("a: 1\nb: 'it''s\n"),
            "my.yaml:2: the quotation mark ' that begins here is never closed\n"
            "hint: put a second one behind the value");
  EXPECT_EQ(parse_error("a: 1\nb: \"two"),
            fmt::format("my.yaml:2: not valid YAML: illegal EOF in scalar{}", kSyntaxHint));
  for (const char* closed : {"a: \"x\\\"y\"", "a: 'it''s'", "'a': \"\"", "a: ''", "a: &x \"y\"\nb: *x",
                             "a: \"é\"\nb: 'ü'", "\"a\": 'x' # it's"})
    EXPECT_EQ(parse_error(closed), "no error") << closed;
  EXPECT_EQ(parse_error("a: \"x\\_y\""),
            "my.yaml:1: the escapes \\N and \\_ are not supported; write the character");
  EXPECT_EQ(parse_error("a: 1\nb: \"\xFF\"\n"),
            "my.yaml:2: not a text file: byte 0xff at offset 9 is not UTF-8 text\nhint: save it as UTF-8");
  EXPECT_EQ(parse_error(std::string_view("a: \0", 4)),
            "my.yaml:1: not a text file: byte 0x00 at offset 3 is not UTF-8 text\nhint: save it as UTF-8");
}

TEST(ConfigTree, DuplicatesAndTagsAreCollected) {
  EXPECT_EQ(parse_error("trainer:\n  seed: 1\n  id: x\n  seed: 2\na: !secret x\nlist:\n  - {b: 1, b: 2}\n"),
            "my.yaml has 3 problems; nothing was started.\n"
            "  my.yaml:4   trainer.seed  given twice; first in line 2\n"
            "  my.yaml:5   a             unknown tag !secret; the only one is !include\n"
            "  my.yaml:7   list.0.b      given twice; first in line 7");
  EXPECT_EQ(parse_error("a: !!str 5\nb: !!int 5\nc: !!map {}\n"), "no error");
  EXPECT_EQ(parse_error("a: !!python/tuple [1]\n"),
            "my.yaml has 1 problem; nothing was started.\n"
            "  my.yaml:1   a  unknown tag !!python/tuple; the only one is !include");
}

TEST(ConfigTree, YamlRoundTrips) {
  for (auto yaml :
       {"a: 1E-3\n", "a: \"1\"\n", "a: true\nb: \"true\"\n", "a: []\nb: {}\n", "a: null\n",
        "- 1\n- a: 2\n  b: [x, y]\n", "a: \"x: y\"\n", "\"a: b\": c\n", "a: -5\nb: -.5\n",
        "a: gs://b/{1..3}.gz\n", "5\n", "a: \"l1\\nl2\"\n", "\"12\": x\n", "a: \"\\\\ \\\" \\t \\r\"\n",
        "a: 2024-01-01\n", "a: x y z\n", "a: !!int ~\nb: !!str ~\nc: !!null null\n"}) {
    const auto tree = tree_of(yaml);
    const auto again = tree_of(tree.yaml());
    EXPECT_EQ(again.yaml(), tree.yaml()) << yaml;
  }
  EXPECT_EQ(tree_of("a: 1E-3\nb: \"1\"\nc: plain\n").yaml(), "a: 1E-3\nb: \"1\"\nc: plain\n");
  EXPECT_EQ(tree_of("a: !!int ~\nb: !!str ~\n").yaml(), "a: null\nb: \"~\"\n");
  EXPECT_EQ(tree_of("a: |\n  l1\n  l2\n").scalar("a"), "l1\nl2\n");
  EXPECT_EQ(tree_of(tree_of("a: |\n  l1\n  l2\n").yaml()).scalar("a"), "l1\nl2\n");
}

class ConfigFileTest : public testing::Test {
 protected:
  ConfigFileTest() : folder_(path_join(testing::TempDir(), "bora_config_test." + std::to_string(getpid()))) {
    remove_all(folder_);
    files().make_directories(path_join(folder_, "sub"));
  }
  ~ConfigFileTest() override { remove_all(folder_); }
  std::string at(std::string_view name) const { return path_join(folder_, name); }
  void put(std::string_view name, std::string_view text) const { write_atomically(at(name), text); }
  std::string error(std::string_view name) const {
    std::string text = message_of([&] {
      ConfigTree tree;
      tree.merge_file(at(name));
    });
    for (std::size_t i; (i = text.find(folder_ + "/")) != std::string::npos;)
      text.erase(i, folder_.size() + 1);
    return text;
  }

  std::string folder_;
};

TEST_F(ConfigFileTest, IncludesStandAnywhereAndAreRelativeToTheirFile) {
  put("main.yaml",
      "a: 1\ndata: !include sub/data.yaml\nlist: [!include sub/one.yaml, !include \"sub/one.yaml\"]\n");
  put("sub/data.yaml", "b: 2\nc: !include one.yaml\n");
  put("sub/one.yaml", "- x\n");
  ConfigTree tree;
  tree.merge_file(at("main.yaml"));
  EXPECT_EQ(tree.yaml(), "a: 1\ndata:\n  b: 2\n  c: [x]\nlist:\n  - [x]\n  - [x]\n");
  EXPECT_EQ(tree.where("data"), at("main.yaml:2"));
  EXPECT_EQ(tree.where("data.b"), at("sub/data.yaml:1"));
  EXPECT_EQ(tree.where("data.c.0"), at("sub/one.yaml:1"));
  ConfigTree value;
  value.override_value("d", "!include " + at("sub/data.yaml"));
  EXPECT_EQ(value.scalar("d.b"), "2");
}

TEST_F(ConfigFileTest, AnEmptyIncludeIsNull) {
  put("main.yaml", "a: !include empty.yaml\n");
  put("empty.yaml", "# nothing\n");
  ConfigTree tree;
  tree.merge_file(at("main.yaml"));
  EXPECT_EQ(tree.yaml(), "a: null\n");
}

TEST_F(ConfigFileTest, IncludesThatFail) {
  put("main.yaml", "a: 1\noptimizer: !include sub/no.yaml\nb: !include\n");
  EXPECT_EQ(
      error("main.yaml"),
      "main.yaml has 2 problems; nothing was started.\n"
      "  main.yaml:2   optimizer  cannot include sub/no.yaml: there is no such file; a path is relative to the "
      "file that includes it\n"
      "  main.yaml:3   b          !include needs the path of a file");
  put("broken.yaml", "x: !include sub/bad.yaml\n");
  put("sub/bad.yaml", "a: 1\nb: [\n");
  EXPECT_EQ(error("broken.yaml").substr(0, 33), "sub/bad.yaml:3: not valid YAML: e");
  put("tag.yaml", "a: !include [x]\nb: !include {}\n");
  EXPECT_EQ(error("tag.yaml"),
            "tag.yaml has 2 problems; nothing was started.\n"
            "  tag.yaml:1   a  !include needs the path of a file\n"
            "  tag.yaml:2   b  !include needs the path of a file");
}

TEST_F(ConfigFileTest, OnlyFilesAreRead) {
  const std::string what =
      "a pipe, a socket or a device, not a file\nhint: copy what it gives into a file first";
  ASSERT_EQ(mkfifo(at("pipe.yaml").c_str(), 0600), 0);
  put("main.yaml", "a: !include pipe.yaml\n");
  EXPECT_EQ(error("main.yaml"), "pipe.yaml: " + what);
  EXPECT_EQ(error("pipe.yaml"), "pipe.yaml: " + what);
  put("zero.yaml", "a: !include /dev/zero\n");
  EXPECT_EQ(error("zero.yaml"), "/dev/zero: " + what);
  put("large.yaml", std::string(4'000'001, '\n'));
  EXPECT_EQ(error("large.yaml"), "large.yaml: 4.00 MB is too large for a configuration (at most 4.00 MB)");
}

// Of a file that is no configuration of the user's, such as one with passwords, nothing is told.
TEST_F(ConfigFileTest, WhatIsIncludedIsNotCited) {
  const std::string secret = "s3cret";
  const auto told = [&](std::string_view content) {
    put("sub/other", content);
    put("main.yaml", "model: {key: !include sub/other}\n");
    const std::string of_file = error("main.yaml");
    EXPECT_EQ(of_file.find(secret), std::string::npos) << of_file;
    ConfigTree tree;
    const std::string of_value =
        message_of([&] { tree.override_value("model.key", "!include " + at("sub/other")); });
    EXPECT_EQ(of_value.find(secret), std::string::npos) << of_value;
    EXPECT_NE(of_value.find("sub/other"), std::string::npos) << of_value;
    return of_file;
  };
  EXPECT_EQ(told("root:s3cret:19000:0:99999:7:::\n# words\n"),
            "sub/other:1: a key with other characters than letters, digits and . _ - / + @; is this a "
            "configuration?");
  EXPECT_EQ(told("root:x:s3cret:/bin/sh\nme:x:1000:/bin/sh\n"),
            "main.yaml has 1 problem; nothing was started.\n"
            "  main.yaml:1   model.key  sub/other holds neither a map nor a list, so it cannot be included");
  EXPECT_EQ(told("*s3cret\n"),
            "sub/other:1: not valid YAML: the referenced anchor is not defined" + std::string(kSyntaxHint));
  EXPECT_EQ(told("a: !s3cret b\n"),
            "sub/other has 1 problem; nothing was started.\n"
            "  sub/other:1   a  unknown tag; the only one is !include");
  EXPECT_EQ(
      told("[default]\nkey = s3cret\n"),
      "sub/other:2: a second YAML document (---); a configuration is one\nhint: take the line out, or make two "
      "files: bora train a.yaml b.yaml, of which the later one wins");
}

TEST_F(ConfigFileTest, IncludeCycles) {
  put("a.yaml", "x: !include sub/b.yaml\n");
  put("sub/b.yaml", "y:\n  z: !include ../a.yaml\n");
  EXPECT_EQ(error("a.yaml"),
            "sub/b.yaml:2: !include goes in a circle: a.yaml -> sub/b.yaml -> a.yaml\n"
            "hint: take one of these lines out");
  put("self.yaml", "x: !include self.yaml\n");
  EXPECT_EQ(
      error("self.yaml"),
      "self.yaml:1: !include goes in a circle: self.yaml -> self.yaml\nhint: take one of these lines out");
}

TEST_F(ConfigFileTest, IncludesCountTogether) {
  put("many.yaml", bomb(5));  // above 200,000
  put("main.yaml",
      "a: !include many.yaml\nb: !include many.yaml\nc: !include many.yaml\nd: !include many.yaml\ne: "
      "!include many.yaml\n");
  EXPECT_EQ(error("main.yaml"), "many.yaml:4: more than 1,000,000 values");
  put("deep.yaml", brackets(40));
  put("deeper.yaml", brackets(30, "!include deep.yaml"));
  EXPECT_EQ(error("deeper.yaml"), "deep.yaml:1: nested deeper than 64 levels");
}

TEST_F(ConfigFileTest, FilesThatAreNotThere) {
  put("recipe.yaml", "");
  EXPECT_EQ(error("recipe.yml"), "recipe.yml: there is no such file; did you mean `recipe.yaml`?");
  EXPECT_EQ(
      error("nowhere/x.yaml"),
      "nowhere/x.yaml: there is no such file\nhint: give the path of a YAML file, such as one of recipes/");
  EXPECT_NE(error("trainer.seed=3").find("no such file\nhint: a key is set by --"), std::string::npos);
  EXPECT_EQ(error("sub"), "sub: a folder, not a file\nhint: name a YAML file in it");
  put("large.yaml", std::string(4'000'001, '#'));
  EXPECT_EQ(error("large.yaml"), "large.yaml: 4.00 MB is too large for a configuration (at most 4.00 MB)");
}

TEST(LevanterConfigs, AllParse) {
  const std::string folder = BORA_SHARED_DIR "/data/levanter-config";
  if (!exists(folder)) GTEST_SKIP() << "no " << folder;
  int parsed = 0;
  for (const std::string sub : {"", "data", "harness", "lora", "sampler"}) {
    for (const auto& name : files().list(path_join(folder, sub))) {
      if (!name.ends_with(".yaml")) continue;
      ConfigTree tree;
      if (name == "gpt2_small_sophiah.yaml") {  // includes a file that is not part of the collection
        EXPECT_NE(
            message_of([&] { tree.merge_file(path_join(folder, name)); }).find("optimizer  cannot include"),
            std::string::npos);
        continue;
      }
      tree.merge_file(path_join(path_join(folder, sub), name));
      EXPECT_FALSE(tree.empty()) << name;
      ConfigTree again;
      again.merge_text(tree.yaml(), name);
      EXPECT_EQ(again.yaml(), tree.yaml()) << name;
      ++parsed;
    }
  }
  EXPECT_GE(parsed, 28);
}

}  // namespace
}  // namespace bora
