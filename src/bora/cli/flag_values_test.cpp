// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Whatever a flag is given as, its command refuses it in words, or takes it and misses its files.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/main.h"

namespace bora::cli {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

// What each command is given before the flag: enough for it to come to its work, which then lacks a file.
// `launch`, which starts processes, is tried in tests/golden.
const std::map<std::string, std::vector<std::string>>& beginnings() {
  static const std::map<std::string, std::vector<std::string>> lines{
      {"train", {"train", "missing.yaml"}},
      {"eval", {"eval", "missing.yaml"}},
      {"generate", {"generate", "missing", "Once"}},
      {"chat", {"chat", "missing"}},
      {"transcribe", {"transcribe", "missing", "missing.wav"}},
      {"wer", {"wer", "missing.txt", "missing.txt"}},
      {"train-tokenizer", {"train-tokenizer", "missing.txt", "--out=out"}},
      {"tokenize", {"tokenize", "encode", "--tokenizer=missing"}},
      {"cache", {"cache", "missing"}},
      {"data", {"data", "inspect", "missing.yaml"}},
      {"config", {"config", "explain", "missing.yaml"}},
      {"import", {"import", "missing", "out"}},
      {"export", {"export", "missing", "out"}},
      {"forward", {"forward", "--model=missing", "--ids=1,2", "--out=x"}},
      {"senses", {"senses", "missing", "word"}},
      {"diff", {"diff", "missing", "missing"}},
      {"inspect", {"inspect", "missing"}},
      {"runs", {"runs", "missing"}},
      {"report", {"report", "missing"}},
      {"bench", {"bench", "train", "--model=missing"}},
      {"doctor", {"doctor", "missing"}}};
  return lines;
}

struct Ended {
  int code;
  std::string output;
};

Ended run(const std::vector<std::string>& line) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run_command(line);
  const auto out = testing::internal::GetCapturedStdout();
  return {code, out + testing::internal::GetCapturedStderr()};
}

TEST(FlagValues, AreRefusedInWordsOrTaken) {
  int tried = 0;
  for (const auto& entry : split(read_text(BORA_SOURCE_DIR "/tests/golden/flags.txt"), '\n')) {
    const auto words = split(trim(entry), ' ');
    if (words.size() != 2 || !words[1].starts_with("-") || words[0] == "launch") continue;
    const auto flag = words[1].substr(words[1].find("--"));
    ASSERT_TRUE(beginnings().contains(words[0])) << "beginnings() lacks the command " << words[0];
    for (const char* value : {"-1", "0", "1e18", "99999999999999999999", "nan", "x", ""}) {
      auto line = beginnings().at(words[0]);
      line.push_back(flag + "=" + value);
      const auto ended = run(line);
      EXPECT_THAT(ended.code, AnyOf(1, 2, 3)) << join(line, " ") << ": " << ended.code;
      EXPECT_THAT(ended.output, AllOf(HasSubstr("bora: "), AnyOf(HasSubstr(flag), HasSubstr("missing"),
                                                                 HasSubstr(fmt::format(" {}: ", value)))))
          << join(line, " ");
      EXPECT_THAT(ended.output, Not(HasSubstr("internal error"))) << join(line, " ");
      ++tried;
    }
  }
  EXPECT_GT(tried, 500);
}

// A variable of a shell that is not set: --adapter "$ADAPTER".
TEST(FlagValues, AreNotEmpty) {
  for (const auto& command : command_specs(commands()))
    for (const auto& argument : command.arguments) {
      const bool may_be = argument.is_positional || !argument.takes_value || argument.name == "--system";
      if (may_be || !beginnings().contains(command.name)) continue;
      const auto flag = argument.name.substr(argument.name.find("--"));
      auto line = beginnings().at(command.name);
      std::erase_if(line, [&](const std::string& word) { return word.starts_with(flag + "="); });
      line.insert(line.end(), {flag, ""});
      const auto ended = run(line);
      EXPECT_EQ(ended.code, 2) << join(line, " ");
      EXPECT_THAT(ended.output, HasSubstr(flag + " is empty")) << join(line, " ");
    }
}

}  // namespace
}  // namespace bora::cli
