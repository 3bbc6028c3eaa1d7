// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora::cli {
namespace {

using testing::HasSubstr;

std::string written(const std::string& name, const std::string& content) {
  const auto path = testing::TempDir() + "bora_prompts_" + name;
  write_atomically(path, content);
  return path;
}

std::vector<std::string> texts(const std::string& path) {
  std::vector<std::string> out;
  for (const auto& prompt : read_prompts(path)) out.push_back(prompt.text);
  return out;
}

std::string refusal_of_prompts(const std::string& path) {
  try {
    read_prompts(path);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Prompts, AreLines) {
  const auto path = written("lines.txt", "The moon\r\n\n  \n{\"prompt\": \"is\"}\n x ");
  EXPECT_EQ(texts(path), (std::vector<std::string>{"The moon", "{\"prompt\": \"is\"}", " x "}));
  EXPECT_EQ(read_prompts(path)[1].place, path + ":4");
}

TEST(Prompts, AreOfJsonLines) {
  const auto path = written("two.jsonl", "{\"prompt\": \"a\\nb\", \"id\": 3}\n{\"prompt\": \"\"}\n");
  EXPECT_EQ(texts(path), (std::vector<std::string>{"a\nb", ""}));
}

TEST(Prompts, RefusalsNameFileAndLine) {
  EXPECT_THAT(
      refusal_of_prompts(written("chats.jsonl", "{\"messages\": []}\n")),
      HasSubstr("chats.jsonl:1: no \"prompt\"; the object has messages\nhint: each line is one such as "
                "{\"prompt\": \"Once upon a time\"}"));
  EXPECT_EQ(refusal_of_prompts(testing::TempDir()), "generate: --prompts " + testing::TempDir() +
                                                        " is a folder, not a file\nhint: name a file in it");
  EXPECT_THAT(refusal_of_prompts(written("none.txt", "\n \n")), HasSubstr("none.txt: holds no prompt"));
  try {
    require_utf8_prompt("ab\xff", "chat");
    ADD_FAILURE() << "was taken";
  } catch (const Error& e) {
    EXPECT_EQ(
        std::string(e.what()),
        "chat: byte 3 of the prompt is not UTF-8\nhint: a terminal, or a file, in UTF-8: iconv -t UTF-8 converts it");
  }
  EXPECT_THAT(refusal_of_prompts(written("bytes.txt", "good\nab\xff")),
              HasSubstr("bytes.txt:2: byte 3 of the line is"));
  EXPECT_THAT(refusal_of_prompts(written("list.jsonl", "[1]")),
              HasSubstr("list.jsonl:1: should be an object with a"));
  EXPECT_THAT(refusal_of_prompts(written("key.jsonl", "{\"text\": \"a\"}")),
              HasSubstr("key.jsonl:1: no \"prompt\"; the object has text"));
  EXPECT_THAT(refusal_of_prompts(written("broken.jsonl", "{\"prompt\"")), HasSubstr("broken.jsonl:1"));
  EXPECT_THAT(refusal_of_prompts("/no/such/file"), HasSubstr("/no/such/file"));
}

}  // namespace
}  // namespace bora::cli
