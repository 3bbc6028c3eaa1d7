// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// `bora chat` without a terminal: a line, an answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdio>

#include "bora/base/file.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::HasSubstr;

constexpr const char* kTemplate =
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}a{% endif %}";

// What a chat about these lines prints.
std::string chat(const std::string& folder, const std::string& lines, int code = 0) {
  write_atomically(folder + "/lines.txt", lines);
  const auto command = "cd " + folder +
                       " && " BORA_PROGRAM
                       " chat runs/run/hf --temperature 0 --max_new_tokens 5 < lines.txt 2>&1";
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  std::string out;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out += static_cast<char>(c);
  EXPECT_EQ(WEXITSTATUS(::pclose(pipe)), code) << out;
  return out;
}

TEST(Chat, RemembersUntilItIsReset) {
  const auto folder = small_project("chat");
  const auto done = run(folder, {"train", "config.yaml", "--trainer.num_train_steps=4", "--hf_export=true"});
  ASSERT_EQ(done.code, 0) << done.output;
  const auto refused = run(folder, {"chat", "runs/run/hf"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.output, HasSubstr("has no chat template\nhint: "));
  write_atomically(folder + "/runs/run/hf/chat_template.jinja", kTemplate);
  const auto once = chat(folder, "a\n");
  EXPECT_FALSE(once.empty());
  EXPECT_EQ(chat(folder, "a\n\n/reset\na\n"), once + once);
  // No answer that a reader of the output would take for that of the line before.
  const auto too_long = chat(folder, "a\n" + std::string(2000, 'x') + "\n/reset\na\n", 2);
  EXPECT_THAT(too_long,
              testing::StartsWith(once + "bora: chat: line 2 of standard input: the conversation has "));
  EXPECT_THAT(too_long, testing::EndsWith("\nhint: a line /reset before it begins a new conversation\n"));
  write_atomically(folder + "/runs/run/hf/chat_template.jinja",
                   "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }} {% endfor %}");
  constexpr const char* kNote =
      "bora: the chat template beside runs/run/hf writes nothing for add_generation_prompt: the model must begin "
      "its answer by itself\n";
  const auto noted = chat(folder, "a\nb\n");
  EXPECT_THAT(noted, HasSubstr(kNote));
  EXPECT_EQ(noted.find(kNote), noted.rfind(kNote)) << "once";
  EXPECT_THAT(once, testing::Not(HasSubstr("add_generation_prompt")));
  remove_all(folder);
}

}  // namespace
}  // namespace bora::golden
