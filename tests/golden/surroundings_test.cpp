// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What is around a run and decides nothing of it: language, time zone, dates of files, crowded folders, and what
// the environment holds that is nobody's business. BORA_TEST_FILES is how many files the crowded folder has.
#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "bora/base/env.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string metrics_of(const std::string& folder, const std::string& id) {
  const auto done = run(folder, {"train", "config.yaml", "--trainer.id=" + id, "--trainer.stop_at_step=3"});
  EXPECT_EQ(done.code, 75) << done.output;
  return read_text(folder + "/runs/" + id + "/metrics.jsonl");
}

// Commas in numbers, and an i without a dot; made for the test, since few machines have them.
TEST(Surroundings, LanguagesChangeNothing) {
  const auto folder = small_project("languages");
  for (const std::string language : {"de_DE", "tr_TR"}) {
    const auto made = folder + "/" + language + ".UTF-8";
    const auto make = fmt::format("localedef --no-archive -i {} -f UTF-8 {} >{}/localedef.txt 2>&1", language,
                                  made, folder);
    if (std::system(make.c_str()) != 0 && !exists(made + "/LC_NUMERIC"))
      GTEST_SKIP() << "no localedef, or no sources of locales: scripts/setup.sh --dev";
  }
  const auto plain = metrics_of(folder, "plain");
  ASSERT_FALSE(plain.empty());
  ::setenv("LOCPATH", folder.c_str(), 1);
  for (const char* language : {"de_DE.UTF-8", "tr_TR.UTF-8"}) {
    ::setenv("LC_ALL", language, 1);
    EXPECT_EQ(metrics_of(folder, "other"), plain) << language;
    remove_all(folder + "/runs/other");
  }
  ::unsetenv("LC_ALL");
  ::unsetenv("LOCPATH");
}

// Wherever it goes: a file is shown in some terminal later.
TEST(Surroundings, WhereThereIsOnlyAsciiPeopleReadAscii) {
  const auto folder = small_project("ascii");
  const std::vector<std::vector<std::string>> commands = {
      {"train", "config.yaml", "--dry_run"},
      {"train", "config.yaml", "--trainer.num_train_steps=2"},
      {"inspect", "runs/run"},
      {"inspect", "runs/run/step-2"},
      {"inspect", "--sharding", "config.yaml"},
      {"data", "inspect", "config.yaml"},
      {"data", "stats", "config.yaml"},
      {"cache", "config.yaml"},
      {"runs"},
      {"config", "explain", "z_loss_weight"},
      {"train", "config.yaml", "--trainer.id=ü/ü"}};
  ::setenv("LC_ALL", "C", 1);
  for (const auto& command : commands) {
    const auto said = run(folder, command).output;
    EXPECT_FALSE(said.empty());
    EXPECT_TRUE(std::all_of(said.begin(), said.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x80;
    })) << said;
  }
  ::unsetenv("LC_ALL");
}

TEST(Surroundings, TimeZoneAndDatesOfFilesChangeNothing) {
  const auto folder = small_project("surroundings");
  const auto plain = metrics_of(folder, "plain");
  ASSERT_FALSE(plain.empty());
  for (const auto& [name, value] :
       {std::pair("LC_ALL", "C"), std::pair("TZ", "Asia/Kolkata"), std::pair("TZ", "nowhere/at:all")}) {
    ::setenv(name, value, 1);
    EXPECT_EQ(metrics_of(folder, "other"), plain) << name << "=" << value;
    ::unsetenv(name);
    remove_all(folder + "/runs/other");
  }
  // A clock that jumps leaves files of the past and of the future.
  for (const std::int64_t seconds : {std::int64_t{1}, std::int64_t{4'000'000'000}}) {
    const timespec times[2] = {{.tv_sec = seconds, .tv_nsec = 0}, {.tv_sec = seconds, .tv_nsec = 0}};
    for_each_file(folder, [&](const std::string& path) { ::utimensat(AT_FDCWD, path.c_str(), times, 0); });
    EXPECT_EQ(metrics_of(folder, "other"), plain) << seconds;
    remove_all(folder + "/runs/other");
    const auto again = run(folder, {"train", "config.yaml", "--trainer.id=plain",
                                    seconds == 1 ? "--trainer.stop_at_step=4" : "--trainer.stop_at_step=5"});
    EXPECT_EQ(again.code, 75) << again.output;
    EXPECT_THAT(read_text(folder + "/runs/plain/metrics.jsonl"), testing::StartsWith(plain));
  }
}

TEST(Surroundings, AFolderOfManyFiles) {
  const auto folder = small_project("crowded");
  const auto many = parse_int(env::for_tests("BORA_TEST_FILES").value_or("2000")).value_or(2000);
  files().make_directories(folder + "/texts");
  for (std::int64_t i = 0; i < many; ++i) {
    const auto file = files().create(folder + "/texts/" + std::to_string(i) + ".txt");
    file->write(as_bytes("the moon falls on water and light\n"));
    file->close();
  }
  const auto done = run(
      folder, {"train", "config.yaml", "--trainer.stop_at_step=1", "--data.configs.one.train_urls=[texts]"});
  EXPECT_EQ(done.code, 75) << done.output;
  const auto tokens =
      run(folder, {"cache", "config.yaml", "--verify", "--data.configs.one.train_urls=[texts]"});
  EXPECT_THAT(tokens.output, HasSubstr(with_commas(many) + " documents")) << tokens.output;
}

TEST(Surroundings, KeysInTheEnvironmentAreNowhere) {
  const auto folder = small_project("keys");
  const std::string canary = "canary-4f1c9b7e";
  const std::vector<const char*> names = {"HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY",
                                          "SOME_PASSWORD"};
  for (const auto* name : names) ::setenv(name, canary.c_str(), 1);
  const auto done = run(folder, {"train", "config.yaml", "--trainer.num_train_steps=2", "--hf_export=true",
                                 "--trainer.tracker=[{type: tensorboard, logdir: tb}, {type: json_logger}]"});
  const auto version = run(folder, {"version"}), inspect = run(folder, {"inspect", "runs/run"});
  for (const auto* name : names) ::unsetenv(name);
  EXPECT_EQ(done.code, 0) << done.output;
  for (const auto& finished : {done, version, inspect}) EXPECT_THAT(finished.output, Not(HasSubstr(canary)));
  int looked_at = 0;
  for_each_file(folder, [&](const std::string& path) {
    ++looked_at;
    EXPECT_THAT(read_text(path), Not(HasSubstr(canary))) << path;
  });
  EXPECT_GT(looked_at, 20);
}

}  // namespace
}  // namespace bora::golden
