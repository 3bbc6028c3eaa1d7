// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/json.h"

#include <gtest/gtest.h>

#include "bora/base/error.h"

namespace bora {
namespace {

std::string corruption_of(const auto& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Corruption);
    return e.what();
  }
  return "no error";
}

std::string json_error(std::string_view text, int max_depth = 64) {
  return corruption_of([&] { parse_json(text, "x.json", max_depth); });
}

TEST(Json, ParsesEverythingInOrder) {
  const auto json =
      parse_json(R"( {"z": [1, -2, 3.5, "é\n", true, null, {}], "a": {"b": 18446744073709551615}} )", "x");
  EXPECT_EQ(json.dump(), R"({"z":[1,-2,3.5,"é\n",true,null,{}],"a":{"b":18446744073709551615}})");
  EXPECT_EQ(json["z"][3].get<std::string>(), "é\n");
  EXPECT_EQ(parse_json("3", "x").get<int>(), 3);
  EXPECT_EQ(parse_json("\"\"", "x").get<std::string>(), "");
}

TEST(Json, SyntaxErrorsGiveLineAndColumn) {
  EXPECT_EQ(
      json_error("{\n  \"a\": 1,\n  \"b\" 2}"),
      "x.json: line 3, column 7: malformed JSON: object separator - unexpected number literal; expected ':'");
  EXPECT_EQ(
      json_error(""),
      "x.json: line 1, column 1: malformed JSON: value - unexpected end of input; expected '[', '{', or a "
      "literal");
  EXPECT_EQ(
      json_error("[1] x"),
      "x.json: line 1, column 5: malformed JSON: value - invalid literal; last read: '1] x'; expected end of "
      "input");
  EXPECT_EQ(json_error("[1e999]"),
            "x.json: line 1, column 6: malformed JSON: number overflow parsing '1e999'");
  for (const std::string_view after : {"", " ", "]"}) {
    EXPECT_EQ(json_error(std::string("[1]\n").append(1, '\0').append(after)),
              "x.json: line 2, column 1: malformed JSON: a zero byte");
  }
  EXPECT_NE(json_error("[NaN]"), "no error");
  EXPECT_NE(json_error("{\"a\": 1,}"), "no error");
  EXPECT_NE(json_error("\"\xFF\""), "no error");
  EXPECT_NE(json_error("// comment\n1"), "no error");
}

TEST(Json, DuplicateKeys) {
  EXPECT_EQ(json_error("{\"a\": 1,\n \"b\": {\"a\": 2}, \"a\": 3}"),
            "x.json: line 2, column 17: duplicate key \"a\" in one object");
  EXPECT_EQ(json_error(R"({"x\"y": 1, "x\"y": 2})"),
            "x.json: line 1, column 13: duplicate key \"x\"y\" in one object");
  EXPECT_EQ(json_error(R"({"a\\": 1, "a\\": 2})"),
            "x.json: line 1, column 12: duplicate key \"a\\\" in one object");
}

TEST(Json, Depth) {
  EXPECT_EQ(json_error("[[1]]", 2), "no error");
  EXPECT_EQ(json_error("[[\n[1]]]", 2), "x.json: line 2, column 1: nested deeper than 2 levels");
  EXPECT_EQ(json_error(std::string(1000000, '[')), "x.json: line 1, column 65: nested deeper than 64 levels");
}

TEST(Json, ManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 100000; ++i) text += fmt::format("{}\"k{}\": {}", i > 0 ? "," : "", i, i);
  EXPECT_EQ(parse_json(text + "}", "x").size(), 100000U);
}

TEST(Json, TypedAccess) {
  const auto json = parse_json(R"({"i": 3, "w": 3.0, "f": 2.5, "s": "x", "b": true, "n": null})", "c.json");
  EXPECT_EQ(json_get<std::int64_t>(json, "i", "c.json"), 3);
  EXPECT_EQ(json_get<std::int64_t>(json, "w", "c.json"), 3);
  EXPECT_EQ(json_get<double>(json, "i", "c.json"), 3.0);
  EXPECT_EQ(json_get<double>(json, "f", "c.json"), 2.5);
  EXPECT_EQ(json_get<std::string>(json, "s", "c.json"), "x");
  EXPECT_TRUE(json_get<bool>(json, "b", "c.json"));
  EXPECT_EQ(json_get<std::int64_t>(json, "absent", "c.json", 7), 7);
  EXPECT_EQ(json_get<std::int64_t>(json, "n", "c.json", 7), 7);
  EXPECT_EQ(json_get<std::int64_t>(json, "i", "c.json", 7), 3);
}

TEST(Json, TypedAccessErrors) {
  const auto json = parse_json(
      R"({"hidden_size": "x", "f": 2.5, "u": 18446744073709551615, "l": [1], "o": {}, "b": true, "n": null})",
      "c");
  const auto error = [&](auto type, std::string_view key) {
    return corruption_of([&] { json_get<decltype(type)>(json, key, "config.json"); });
  };
  EXPECT_EQ(error(std::int64_t{}, "hidden_size"),
            "config.json: hidden_size should be an integer but is \"x\"");
  EXPECT_EQ(error(std::int64_t{}, "f"), "config.json: f should be an integer but is 2.5");
  EXPECT_EQ(error(std::int64_t{}, "u"), "config.json: u should be an integer but is 18446744073709551615");
  EXPECT_EQ(error(double{}, "l"), "config.json: l should be a number but is a list");
  EXPECT_EQ(error(std::string{}, "o"), "config.json: o should be a string but is an object");
  EXPECT_EQ(error(bool{}, "n"), "config.json: n should be true or false but is null");
  EXPECT_EQ(error(std::int64_t{}, "hiden_size"),
            "config.json: hiden_size is missing; did you mean `hidden_size`?");
  EXPECT_EQ(error(std::int64_t{}, "vocab_size"), "config.json: vocab_size is missing");
  EXPECT_EQ(corruption_of([&] { json_get<bool>(json, "f", "config.json", true); }),
            "config.json: f should be true or false but is 2.5");
  EXPECT_EQ(corruption_of([] { json_get<bool>(Json::array(), "a", "config.json"); }),
            "config.json: should be an object with a but is a list");
}

TEST(Json, LongValuesAreShortened) {
  const Json json = {{"a", std::string(100, 'x')}};
  EXPECT_EQ(corruption_of([&] { json_get<bool>(json, "a", "c"); }),
            "c: a should be true or false but is \"" + std::string(59, 'x') + "...");
}

}  // namespace
}  // namespace bora
