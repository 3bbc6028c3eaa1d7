// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "bora/base/value_patterns.h"

namespace bora {
namespace {

using Words = std::vector<std::string>;

TEST(Text, JoinAndSplitAreInverse) {
  EXPECT_EQ(join(Words{"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(join(Words{}), "");
  const std::vector<std::string_view> views{"x", "y"};
  EXPECT_EQ(join(views, "|"), "x|y");
  EXPECT_EQ(split("a.b..c", '.'), (Words{"a", "b", "", "c"}));
  EXPECT_EQ(split("", '.'), Words{""});
  EXPECT_EQ(split("a.", '.'), (Words{"a", ""}));
}

TEST(Text, AsciiLowerChangesNothingElse) {
  EXPECT_EQ(ascii_lower("HTTPS://Host-09.Example/\xC3\x84"), "https://host-09.example/\xC3\x84");
  EXPECT_EQ(ascii_lower(""), "");
}

TEST(Text, Trim) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim("x"), "x");
}

TEST(Text, NearestFindsMisspellings) {
  const Words keys{"train_batch_size", "num_train_steps", "seed"};
  EXPECT_EQ(nearest("train_batchsize", keys), "train_batch_size");
  EXPECT_EQ(nearest("num_trian_steps", keys), "num_train_steps");
  EXPECT_EQ(nearest("sede", keys), "seed");  // a swap costs one
  EXPECT_EQ(nearest("Seed", keys), "seed");  // and another case nothing
  EXPECT_EQ(nearest("TRAIN_BATCH_SIZE", keys), "train_batch_size");
  EXPECT_EQ(nearest("seed", keys), "seed");
  EXPECT_EQ(nearest("optimizer", keys), std::nullopt);
  EXPECT_EQ(nearest("x", Words{}), std::nullopt);
}

TEST(Text, NearestAllowsAThirdOfTheLongerWordAndTakesTheFirstOfEquals) {
  EXPECT_EQ(nearest("abc", Words{"abd"}), "abd");
  EXPECT_EQ(nearest("ab", Words{"ac"}), std::nullopt);
  EXPECT_EQ(nearest("abcdef", Words{"abxyef"}), "abxyef");
  EXPECT_EQ(nearest("abcdef", Words{"axyzef"}), std::nullopt);
  EXPECT_EQ(nearest("beta3", Words{"beta1", "beta2"}), "beta1");
  EXPECT_EQ(nearest("beta2", Words{"beta1", "beta2"}), "beta2");
}

TEST(Text, DidYouMean) {
  EXPECT_EQ(did_you_mean("lama", Words{"gpt2", "llama"}), "; did you mean `llama`?");
  EXPECT_EQ(did_you_mean("whisper", Words{"gpt2", "llama"}), "");
}

TEST(Text, WithCommas) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(with_commas(-123456), "-123,456");
  EXPECT_EQ(with_commas(-123), "-123");
  EXPECT_EQ(with_commas(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Text, HumanCount) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(950), "950");
  EXPECT_EQ(human_count(2.5), "2.50");
  EXPECT_EQ(human_count(1230), "1.23 k");
  EXPECT_EQ(human_count(4921344), "4.92 M");
  EXPECT_EQ(human_count(6.738e9), "6.74 B");
  EXPECT_EQ(human_count(12.34e3), "12.3 k");
  EXPECT_EQ(human_count(999999), "1.00 M");  // never "1000 k"
  EXPECT_EQ(human_count(-1500), "-1.50 k");
  EXPECT_EQ(human_count(5e15), "5000 T");
  EXPECT_EQ(human_count(NAN), "nan");
}

TEST(Text, HumanBytes) {
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(19.7e6), "19.7 MB");
  EXPECT_EQ(human_bytes(530e6), "530 MB");
  EXPECT_EQ(human_bytes(1.1e9), "1.10 GB");
}

TEST(Text, HumanDuration) {
  EXPECT_EQ(human_duration(0.03), "0.03 s");
  EXPECT_EQ(human_duration(0.6), "0.6 s");
  EXPECT_EQ(human_duration(4.1), "4.1 s");
  EXPECT_EQ(human_duration(9.96), "10 s");
  EXPECT_EQ(human_duration(38), "38 s");
  EXPECT_EQ(human_duration(59.7), "1:00");
  EXPECT_EQ(human_duration(96), "1:36");
  EXPECT_EQ(human_duration(7389), "2:03:09");
  EXPECT_EQ(human_duration(3599.6), "1:00:00");
  EXPECT_EQ(human_duration(-38), "-38 s");
  EXPECT_EQ(human_duration(INFINITY), "inf");
}

TEST(Text, ValidUtf8) {
  EXPECT_EQ(invalid_utf8(""), std::nullopt);
  EXPECT_EQ(invalid_utf8("aé€𐍈\U0010FFFF"), std::nullopt);
  EXPECT_EQ(invalid_utf8(std::string_view("\0", 1)), std::nullopt);
  EXPECT_EQ(invalid_utf8("\xED\x9F\xBF\xEE\x80\x80"), std::nullopt);  // the neighbours of the surrogates
}

TEST(Text, InvalidUtf8GivesTheOffset) {
  EXPECT_EQ(invalid_utf8("ab\x80"), 2U);
  EXPECT_EQ(invalid_utf8("\xC0\xAF"), 0U);          // overlong
  EXPECT_EQ(invalid_utf8("a\xE0\x80\x80"), 1U);     // overlong
  EXPECT_EQ(invalid_utf8("\xF0\x80\x80\x80"), 0U);  // overlong
  EXPECT_EQ(invalid_utf8("\xED\xA0\x80"), 0U);      // a surrogate
  EXPECT_EQ(invalid_utf8("\xF4\x90\x80\x80"), 0U);  // above U+10FFFF
  EXPECT_EQ(invalid_utf8("\xF5\x80\x80\x80"), 0U);
  EXPECT_EQ(invalid_utf8("é\xE2\x82"), 2U);  // cut off
  EXPECT_EQ(invalid_utf8("\xC3("), 0U);
}

TEST(Text, ParseInt) {
  EXPECT_EQ(parse_int("0"), 0);
  EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (auto bad : {"", " 1", "1 ", "+1", "1.0", "0x10", "9223372036854775808", "-", "1e3", "abc"}) {
    EXPECT_EQ(parse_int(bad), std::nullopt) << bad;
  }
}

TEST(Text, ParseDouble) {
  EXPECT_EQ(parse_double("1E-3"), 1e-3);
  EXPECT_EQ(parse_double("6e-4"), 6e-4);
  EXPECT_EQ(parse_double("0.1"), 0.1);
  EXPECT_EQ(parse_double("-3"), -3.0);
  EXPECT_EQ(parse_double(".5"), 0.5);
  for (auto bad : {"", "+1", "1e", "1e999", "inf", "nan", "1,5", "1.0 ", "0x1p3", "e3"}) {
    EXPECT_EQ(parse_double(bad), std::nullopt) << bad;
  }
}

TEST(Text, ParseDuration) {
  EXPECT_EQ(parse_duration("15m"), 900);
  EXPECT_EQ(parse_duration("2h"), 7200);
  EXPECT_EQ(parse_duration("90s"), 90);
  EXPECT_EQ(parse_duration("1d"), 86400);
  EXPECT_EQ(parse_duration("1.5h"), 5400);
  EXPECT_EQ(parse_duration("30"), 30);
  for (auto bad : {"", "m", "-1s", "15 m", "15min", "1h30m", "soon", "1e308d"}) {
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
  }
}

TEST(Text, ParseBytes) {
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("1536"), 1536);
  EXPECT_EQ(parse_bytes("7B"), 7);
  EXPECT_EQ(parse_bytes("512MB"), 512'000'000);
  EXPECT_EQ(parse_bytes("1.5 GB"), 1'500'000'000);
  EXPECT_EQ(parse_bytes("64KiB"), 65536);
  EXPECT_EQ(parse_bytes("64kB"), 64000);
  EXPECT_EQ(parse_bytes("2TiB"), std::int64_t{2} << 40);
  EXPECT_EQ(parse_bytes("1e9"), 1'000'000'000);
  EXPECT_EQ(parse_bytes("1.001kB"), 1001) << "1000.9999... as a product of floating point";
  EXPECT_EQ(parse_bytes("0.0015 kB"), 2);
  EXPECT_EQ(parse_bytes("9223372036854775807"), 9223372036854775807);
  for (auto bad : {"", "GB", "-1", "-1GB", "-0", "1.5", "1_000", "15e-1", " 1", "0.1B", "1 G", "1gb", "1XB",
                   "99999PB", "inf", "1GBx", "+1"}) {
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
  }
  for (std::int64_t bytes : {0L, 1L, 1000L, 1001L, 65536L, 100'000'000'000L, 9223372036854775807L})
    EXPECT_EQ(parse_bytes(exact_bytes(bytes)), bytes);
  EXPECT_EQ(exact_bytes(100'000'000'000), "100GB");
  EXPECT_EQ(exact_bytes(1536), "1536");
}

// Texts of a few such pieces.
TEST(Text, PatternsAreWhatIsRead) {
  const std::regex durations(kDurationPattern), sizes(kBytesPattern);
  const std::vector<std::string> pieces = {"",   "1",  "0",   "25", ".",  "e3",  "E-2", "-",
                                           "+",  "_",  " ",   "s",  "m",  "h",   "d",   "B",
                                           "kB", "KB", "MiB", "G",  "iB", "min", "k",   "x"};
  int read_durations = 0, read_sizes = 0;
  const std::regex long_exponent("[eE][-+]?[0-9]{2}");
  const auto compare = [&](const std::string& text) {
    if (std::regex_search(text, long_exponent)) return;
    const bool is_duration = parse_duration(text).has_value(), is_size = parse_bytes(text).has_value();
    EXPECT_EQ(std::regex_search(text, durations), is_duration) << "duration " << text;
    EXPECT_EQ(std::regex_search(text, sizes), is_size) << "size " << text;
    read_durations += is_duration ? 1 : 0;
    read_sizes += is_size ? 1 : 0;
  };
  for (const auto& a : pieces)
    for (const auto& b : pieces)
      for (const auto& c : pieces) {
        compare(a + b + c);
        compare("1" + a + b + c);
      }
  EXPECT_GT(read_durations, 300);
  EXPECT_GT(read_sizes, 300);
}

TEST(Text, BeginningOfASentenceOnFiles) {
  EXPECT_EQ(they_hold(std::vector<std::string>{"a.txt"}), "a.txt holds");
  EXPECT_EQ(they_hold(std::vector<std::string>{"a.txt", "b.txt", "c.txt"}), "a.txt and 2 more hold");
}

}  // namespace
}  // namespace bora
