// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/user_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/html.h"
#include "bora/cli/main.h"

namespace bora::cli {
namespace {

using testing::HasSubstr;

std::string error_of(ErrorKind kind, const std::function<void()>& body) {
  try {
    body();
    return "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
}

class UserFiles : public testing::Test {
 protected:
  UserFiles() : folder_(testing::TempDir() + "bora_user_files") {
    remove_all(folder_);
    files().make_directories(folder_);
  }
  std::string file(const std::string& name, const std::string& text) const {
    const auto path = path_join(folder_, name);
    write_atomically(path, text);
    return path;
  }
  std::string folder_;
};

TEST_F(UserFiles, AreNotWrittenOver) {
  const auto mine = file("mine.yaml", "trainer: {}\n"),
             page = file("page.html", "<!doctype html>" + std::string(kPageMark) + "</html>");
  const auto refused = [](const std::string& path, bool force, std::string_view mark) {
    return error_of(ErrorKind::Usage, [&] { require_free_file("report", "--out", path, force, mark); });
  };
  EXPECT_EQ(refused(mine, false, kPageMark),
            "report: --out " + mine + " exists\nhint: another name, or --force to write over it");
  EXPECT_EQ(refused(mine, true, kPageMark), "no error");
  EXPECT_EQ(refused(page, false, kPageMark), "no error") << "Bora's own";
  EXPECT_THAT(refused(page, false, ""), HasSubstr("exists"));
  EXPECT_EQ(refused(folder_ + "/new", false, ""), "no error");
  EXPECT_EQ(refused("/dev/null", false, ""), "no error");
  EXPECT_THAT(refused(folder_, false, ""), HasSubstr("is a folder, not a file"));
}

TEST_F(UserFiles, OfOtherKindsAreNoTensors) {
  const auto told = [](const std::string& path, bool takes_tokenizer = true) {
    return error_of(ErrorKind::Corruption, [&] { require_tensor_file(path, takes_tokenizer); });
  };
  const auto config = file("c.yaml", "a: 1\n"), manifest = file("manifest.json", "{}");
  EXPECT_EQ(told(config), config + " is a configuration, no tensor file\nhint: bora train " + config +
                              " --dry_run shows what it means, bora config diff " + config +
                              " OTHER how it differs from another");
  EXPECT_EQ(told(manifest),
            manifest + " is a part of a checkpoint, no tensor file\nhint: bora inspect " + folder_);
  EXPECT_THAT(told(file("text.txt", "once upon a time")), HasSubstr("is something else, no tensor file"));
  EXPECT_THAT(told(file("empty", "")), HasSubstr("is something else, no tensor file"));
  EXPECT_THAT(told(file("m.gguf", "GGUF\3")), HasSubstr("is a GGUF file, no tensor file\nhint: bora import"));
  const auto tokenizer = file("tokenizer.json", "{}");
  EXPECT_EQ(told(tokenizer), "no error");
  EXPECT_THAT(told(tokenizer, false), HasSubstr("is something else"));
  EXPECT_EQ(told(file("a.safetensors", "cut")), "no error") << "its reader says what is wrong";
  EXPECT_EQ(told(file("tensors", std::string("\2\0\0\0\0\0\0\0{}", 10))), "no error");
}

}  // namespace
}  // namespace bora::cli
