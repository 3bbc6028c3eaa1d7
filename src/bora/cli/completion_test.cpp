// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/completion.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/cli/man_page.h"

namespace bora::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

CompletionWords all_words() {
  return {commands(),
          command_specs(commands()),
          {"data.tokenizer", "data_seed", "trainer.checkpointer.keep", "trainer.seed"},
          {"trainer.device=auto cpu cuda cuda:1", "trainer.reduction=fixed fast"}};
}

bool has_program(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

// What a shell says to a script.
std::string said_by(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string out;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out += static_cast<char>(c);
  ::pclose(pipe);
  return out;
}

bool is_required(const std::string& flag) {
  constexpr std::array<std::string_view, 3> kFlags = {"--out", "--tokenizer", "--ids"};
  return std::find(kFlags.begin(), kFlags.end(), flag) != kFlags.end();
}

// What a command says when a flag is no word of any: of the flag, or of what is missing besides.
std::string said_by_program_of_wrong_word(const CommandSpec& command, const ArgumentSpec& argument) {
  std::vector<std::string> line;
  for (const auto& a : command.arguments)
    if (a.is_positional) line.push_back(command.words.empty() || !line.empty() ? "x" : command.words.front());
  for (const auto& a : command.arguments)
    if (!a.is_positional && a.takes_value && a.name != argument.name && is_required(a.name))
      line.insert(line.end(), {a.name, "x"});
  line.insert(line.end(), {argument.name.substr(0, argument.name.find(',')), "no-such-word"});
  const auto all = commands();
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const Command& c) { return c.name == command.name; });
  try {
    known->run(line);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
  }
  return "";
}

class Completion : public testing::Test {
 protected:
  Completion() : folder_(path_join(testing::TempDir(), "bora_completion")) {
    remove_all(folder_);
    files().make_directories(folder_ + "/runs/calm-heron");
    files().make_directories(folder_ + "/runs/brisk-otter");
    files().make_directories(folder_ + "/checkpoints/keen-swift");
    write_atomically(folder_ + "/bora.bash", completion_script("bash", all_words()));
  }
  // What bash offers for the last of the words.
  std::vector<std::string> offered(const std::string& words) const {
    auto lines =
        split(said_by("cd " + folder_ + " && bash -c 'set -u; source ./bora.bash; COMP_WORDS=(" + words +
                      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _bora; printf \"%s\\n\" "
                      "${COMPREPLY[@]+\"${COMPREPLY[@]}\"}'"),
              '\n');
    std::erase(lines, "");
    return lines;
  }
  std::string folder_;
};

TEST_F(Completion, OfBashOffersWhatTheProgramTakes) {
  if (!has_program("/bin/bash")) GTEST_SKIP() << "no bash here";
  EXPECT_THAT(offered("bora tra"), ElementsAre("train", "transcribe", "train-tokenizer"));
  EXPECT_THAT(offered("bora help ru"), ElementsAre("runs"));
  EXPECT_THAT(offered("bora train --dry"), ElementsAre("--dry_run"));
  EXPECT_THAT(offered("bora launch -n 2 -- train --acc"), ElementsAre("--accept_changes"));
  EXPECT_THAT(offered("bora launch --rest"), ElementsAre("--restarts"));
  EXPECT_THAT(offered("bora config mi"), ElementsAre("migrate"));
  EXPECT_THAT(offered("bora config explain mi"), IsEmpty()) << "its first word is there";
  EXPECT_THAT(offered("bora train --config_path x"), IsEmpty()) << "a file: readline's own";
}

TEST_F(Completion, OfBashOffersKeysDotByDot) {
  if (!has_program("/bin/bash")) GTEST_SKIP() << "no bash here";
  EXPECT_THAT(offered("bora train --da"), ElementsAre("--data.", "--data_seed="));
  EXPECT_THAT(offered("bora train --trainer."), ElementsAre("--trainer.checkpointer.", "--trainer.seed="));
  EXPECT_THAT(offered("bora train --trainer"), ElementsAre("--trainer."));
  EXPECT_THAT(offered("bora generate --trainer."), IsEmpty()) << "takes no keys";
  EXPECT_THAT(offered("bora config explain trainer.se"), ElementsAre("trainer.seed"));
  EXPECT_THAT(offered("bora train --trainer.device=cp"), ElementsAre("--trainer.device=cpu"));
  EXPECT_THAT(offered("bora train --trainer.reduction = "), ElementsAre("fixed", "fast"));
  EXPECT_THAT(offered("bora train --trainer.reduction = fa"), ElementsAre("fast"));
  EXPECT_THAT(offered("bora train --trainer.reduction ="), ElementsAre("fixed", "fast"));
  EXPECT_THAT(offered("bora train --trainer.seed ="), IsEmpty());
  EXPECT_THAT(offered("bora config explain tr"), ElementsAre("trainer."));
}

TEST_F(Completion, OfBashOffersTheWordsOfFlags) {
  if (!has_program("/bin/bash")) GTEST_SKIP() << "no bash here";
  EXPECT_THAT(offered("bora export runs/x y --dtype \"\""), ElementsAre("f32", "bf16", "f16", "q8_0"));
  EXPECT_THAT(offered("bora export runs/x y --format g"), ElementsAre("gguf"));
  EXPECT_THAT(offered("bora export runs/x y --dtype = q"), ElementsAre("q8_0"));
  EXPECT_THAT(offered("bora export --dtype=b"), ElementsAre("--dtype=bf16"));
  EXPECT_THAT(offered("bora cache export c --format raw-u1"), ElementsAre("raw-u16"));
  EXPECT_THAT(offered("bora bench train --model lla"),
              ElementsAre("llama-nano", "llama-mid", "llama-125m", "llama-8b-8"));
  EXPECT_THAT(offered("bora generate runs/x --weights in"), ElementsAre("int8"));
  EXPECT_THAT(offered("bora launch -n 2 -- eval --weights b"), ElementsAre("bf16"));
  EXPECT_THAT(offered("bora train-tokenizer x --kind word"), ElementsAre("wordpiece"));
  EXPECT_THAT(offered("bora generate runs/x --seed 1"), IsEmpty());
}

// A flag that takes one of some words, as the program says of every other, offers these.
TEST_F(Completion, OffersWhatIsTaken) {
  int flags = 0;
  for (const auto& command : all_words().specs) {
    if (command.name == "launch") continue;  // it would start something
    for (const auto& argument : command.arguments) {
      if (argument.is_positional || !argument.takes_value) continue;
      const auto says = said_by_program_of_wrong_word(command, argument);
      constexpr std::string_view kSays = " is not one of ";
      const auto at = says.find(kSays);
      if (at == says.npos) continue;
      ++flags;
      const auto from = at + kSays.size();
      for (const auto& part : split(says.substr(from, says.find_first_of(";\n", from) - from), ',')) {
        const std::string word(trim(part));
        if (word == "..." || word.starts_with("cuda:")) continue;  // any number
        EXPECT_THAT(argument.values, testing::Contains(word))
            << command.name << " " << argument.name << ": " << says;
      }
    }
  }
  EXPECT_GE(flags, 10);
}

TEST_F(Completion, OfBashOffersRuns) {
  if (!has_program("/bin/bash")) GTEST_SKIP() << "no bash here";
  EXPECT_THAT(offered("bora report ca"), ElementsAre("runs/calm-heron"));
  EXPECT_THAT(offered("bora report runs/ca"), ElementsAre("runs/calm-heron"));
  EXPECT_THAT(offered("bora report ke"), ElementsAre("checkpoints/keen-swift"));
  EXPECT_THAT(offered("bora report checkpoints/"), ElementsAre("checkpoints/keen-swift"));
  EXPECT_THAT(offered("bora train ca"), IsEmpty());
  EXPECT_THAT(offered("bora eval c.yaml --model br"), ElementsAre("runs/brisk-otter"));
  EXPECT_THAT(offered("bora eval br"), IsEmpty()) << "its positionals are configurations";
  EXPECT_THAT(offered("bora config diff br"), ElementsAre("runs/brisk-otter"));
}

// Each flag and each word of every command is in every script and page: they are made of one table.
TEST_F(Completion, NamesEveryFlagOfEveryCommand) {
  const auto words = all_words();
  ASSERT_EQ(words.specs.size(), words.commands.size());
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto script = completion_script(shell, words);
    for (const auto& command : words.specs) {
      EXPECT_THAT(script, HasSubstr(command.name)) << shell;
      for (const auto& word : command.words)
        EXPECT_THAT(script, HasSubstr(word)) << shell << " " << command.name;
      for (const auto& argument : command.arguments) {
        if (argument.is_positional) continue;
        const auto flag = argument.name.substr(argument.name.find("--") + (shell[0] == 'f' ? 2 : 0));
        EXPECT_THAT(script, HasSubstr(flag)) << shell << " " << command.name;
      }
    }
  }
  EXPECT_THAT(completion_script("fish", words), HasSubstr("-s n -l workers -r -d"));
  try {
    completion_script("bish", words);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("bish is not one of bash, zsh, fish; did you mean `bash`?"));
  }
}

TEST_F(Completion, OfFishOffersWhatTheProgramTakes) {
  if (!has_program("/usr/bin/fish")) GTEST_SKIP() << "no fish here: scripts/setup.sh --dev";
  write_atomically(folder_ + "/bora.fish", completion_script("fish", all_words()));
  const auto of = [&](const std::string& line) {
    auto lines = split(said_by("cd " + folder_ + " && HOME=" + folder_ +
                               " fish --no-config -c 'source bora.fish; complete -C \"" + line + "\"'"),
                       '\n');
    std::erase(lines, "");
    for (auto& l : lines) l = l.substr(0, l.find('\t'));  // a word, a tab, what it does
    return lines;
  };
  EXPECT_THAT(of("bora tra"), ElementsAre("train", "train-tokenizer", "transcribe"));
  EXPECT_THAT(of("bora train --dry"), ElementsAre("--dry_run"));
  EXPECT_THAT(of("bora train x.yaml --trainer.se"), ElementsAre("--trainer.seed="));
  EXPECT_THAT(of("bora report ca"), testing::Contains("runs/calm-heron"));
  EXPECT_THAT(of("bora train x.yaml --trainer.reduction=fa"), ElementsAre("--trainer.reduction=fast"));
  EXPECT_THAT(of("bora export runs/x y --dtype "),
              testing::UnorderedElementsAre("f32", "bf16", "f16", "q8_0"));
  EXPECT_THAT(of("bora bench train --model llama-n"), ElementsAre("llama-nano"));
}

// On a terminal of its own, where alone zsh completes: what follows there after the tab.
TEST_F(Completion, OfZshOffersWhatTheProgramTakes) {
  if (!has_program("/usr/bin/zsh")) GTEST_SKIP() << "no zsh here: scripts/setup.sh --dev";
  write_atomically(folder_ + "/_bora", completion_script("zsh", all_words()));
  const auto goes_on = [&](const std::string& line, const std::string& rest) {
    write_atomically(folder_ + "/typed.zsh", fmt::format(R"(zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1="> "; fpath=({0} $fpath); autoload -Uz compinit; compinit -u -d {0}/dump; print rea"dy"'
zpty -r -m shell said '*ready*'
zpty -w -n shell '{1}'$'\t'
zpty -r -m shell said '*{2}*' && print as expected
)",
                                                         folder_, line, rest));
    return said_by("cd " + folder_ + " && timeout 30 zsh -f typed.zsh");
  };
  EXPECT_EQ(goes_on("bora trans", "cribe"), "as expected\n");
  EXPECT_EQ(goes_on("bora train --dry", "_run"), "as expected\n");
  EXPECT_EQ(goes_on("bora train x.yaml --trainer.se", "ed="), "as expected\n");
  EXPECT_EQ(goes_on("bora train x.yaml --trainer.reduction=fa", "st"), "as expected\n");
  EXPECT_EQ(goes_on("bora export runs/x y --dtype q", "8_0"), "as expected\n");
  EXPECT_EQ(goes_on("bora export runs/x y --dtype=q", "8_0"), "as expected\n");
  for (const char* begin : {"ca", "runs/ca"}) {
    EXPECT_EQ(goes_on(std::string("bora report ") + begin, "lm-heron"), "as expected\n");
    EXPECT_EQ(goes_on(std::string("bora eval x.yaml --model ") + begin, "lm-heron"), "as expected\n");
  }
}

TEST(ManPage, SaysWhatHelpSays) {
  for (const auto& command : command_specs(commands())) {
    const auto page = man_page(command);
    EXPECT_THAT(page, AllOf(HasSubstr(".SH SYNOPSIS"), HasSubstr(".SH OPTIONS"), HasSubstr(".SH EXAMPLES")));
    for (const auto& argument : command.arguments) {
      auto name = argument.name.substr(
          argument.name.rfind('-') == argument.name.npos ? 0 : argument.name.rfind('-') + 1);
      EXPECT_THAT(page, HasSubstr(name)) << command.name;
    }
    for (const auto& line : split(page, '\n')) {
      if (!line.starts_with('.')) continue;
      EXPECT_TRUE(line.starts_with(".TH ") || line.starts_with(".SH ") || line.starts_with(".TP") ||
                  line.starts_with(".B ") || line.starts_with(".BR ") || line == ".nf" || line == ".fi")
          << "text taken for a macro: " << line;
    }
  }
  EXPECT_THAT(man_page(commands()),
              AllOf(HasSubstr(".BR bora\\-train (1)\n"), HasSubstr("\\fBNO_COLOR\\fR")));
}

TEST(ManPage, KeepsTextFromBeingRoff) {
  const auto page = man_page(CommandSpec{.name = "x",
                                         .summary = ".no macro \\n here",
                                         .examples = "'quote\n.dot",
                                         .arguments = {{"--a-b", "doc", false, false}},
                                         .words = {},
                                         .takes_overrides = true});
  EXPECT_THAT(page,
              AllOf(HasSubstr("\n\\&.no macro \\en here\n"), HasSubstr("\n\\&'quote\n\\&.dot\n"),
                    HasSubstr("\\fB\\-\\-a\\-b\\fR\n"), HasSubstr("\\fB\\-\\-key.key\\fR=\\fIvalue\\fR")));
  EXPECT_THAT(page, Not(HasSubstr("\n.no")));
}

}  // namespace
}  // namespace bora::cli
