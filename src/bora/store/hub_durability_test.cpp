// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The hub's cache when a call of the system fails, and when the power goes. BORA_TEST_POWER_LOSSES is the number of
// schedules.
#include <gmock/gmock.h>

#include <cerrno>
#include <filesystem>

#include "bora/base/env.h"
#include "bora/base/fault_files.h"
#include "bora/base/log.h"
#include "bora/base/power_loss_files.h"
#include "bora/base/text.h"
#include "bora/store/hub.h"
#include "bora/store/test_hub.h"

namespace bora::store {
namespace {

using namespace test;
using testing::AnyOf;
using testing::HasSubstr;

constexpr const char* kFiles[] = {"config.json", "tokenizer.json", "model.safetensors"};
const std::string kModel = "me/tiny@" + kCommit;

void expect_whole(const Hub& hub, const std::string& there) {
  for (const auto* name : kFiles) EXPECT_EQ(read_text(path_join(there, name)), hub.files.at(name)) << name;
}

std::uint64_t schedules() {
  return static_cast<std::uint64_t>(
      parse_int(env::for_tests("BORA_TEST_POWER_LOSSES").value_or("300")).value_or(300));
}

// Where the power goes while a model is fetched, a start without a network has all of it or says what it lacks; one
// with a network mends what is missing. What was fetched stays.
TEST(HubDurability, AFetchedModelSurvivesALossOfPower) {
  Hub hub;
  hub.files["model.safetensors"] = std::string(5000, 'w');
  testing::internal::CaptureStderr();
  PowerLossFiles disk;
  {
    const ScopedFileSystem scope(disk);
    expect_whole(hub, hub.fetch(HubFiles::Weights, kModel));
  }
  const auto returned = disk.operations();
  int whole = 0, lacking = 0;
  for (std::uint64_t n = 0; n < schedules() && !testing::Test::HasFailure(); ++n) {
    const auto luck = Key::from_seed(n);
    const auto at = luck.below(returned + 1, 1'000'000);
    const auto after = disk.after_power_loss(n % 4 == 0 ? returned : at, luck);
    const ScopedFileSystem scope(*after);
    SCOPED_TRACE(testing::Message() << "seed " << n << ", after " << at << " of " << returned);
    hub.options.offline = true;
    const auto first = hub.refusal(HubFiles::Weights, kModel);
    if (first.starts_with("fetched ")) {
      ++whole;
      expect_whole(hub, first.substr(8));
    } else {
      ++lacking;
      EXPECT_THAT(first, HasSubstr("me/tiny: the model of revision"));
      EXPECT_NE(n % 4, 0U) << "it had been fetched: " << first;
    }
    hub.options.offline = false;
    // Where a hash shows that what had come is not what was sent, the next try fetches it anew.
    auto second = hub.refusal(HubFiles::Weights, kModel);
    if (!second.starts_with("fetched ")) {
      EXPECT_THAT(second, HasSubstr("SHA-256"));
      second = hub.refusal(HubFiles::Weights, kModel);
    }
    ASSERT_THAT(second, testing::StartsWith("fetched "));
    expect_whole(hub, second.substr(8));
  }
  EXPECT_GT(whole, 10);
  EXPECT_GT(lacking, 10);
  testing::internal::GetCapturedStderr();
}

// A process that is killed between writing something and syncing it leaves that to the next.
TEST(HubDurability, WhatAKilledProcessLeftIsSyncedToo) {
  Hub hub;
  testing::internal::CaptureStderr();
  for (std::int64_t n = 1; !testing::Test::HasFailure(); ++n) {
    PowerLossFiles disk;
    FaultFiles killed(disk, {.nth = n, .error_number = EIO, .stays_broken = true});
    {
      const ScopedFileSystem dies(killed);
      (void)hub.refusal(HubFiles::Weights, kModel);
    }
    if (!killed.fired()) break;
    SCOPED_TRACE(killed.fired_at());
    std::string there;
    {
      const ScopedFileSystem next(disk);
      there = hub.fetch(HubFiles::Weights, kModel);
    }
    for (std::uint64_t luck = 0; luck < 20; ++luck) {
      const auto after = disk.after_power_loss(disk.operations(), Key::from_seed(luck));
      const ScopedFileSystem later(*after);
      expect_whole(hub, there);
    }
  }
  testing::internal::GetCapturedStderr();
}

TEST(HubDurability, EveryOperationMayFail) {
  Hub hub;
  testing::internal::CaptureStderr();
  NoSyncFiles no_sync;
  const ScopedFileSystem fast(no_sync);
  std::int64_t n = 1;
  for (;; ++n) {
    remove_all(hub.options.cache);
    FaultFiles broken(no_sync,
                      {.nth = n, .error_number = n % 2 == 0 ? ENOSPC : EIO, .short_write = n % 3 == 0});
    std::string said;
    {
      const ScopedFileSystem scope(broken);
      said = hub.refusal(HubFiles::Weights, kModel);
    }
    SCOPED_TRACE(broken.fired_at());
    if (!said.starts_with("fetched ")) {
      EXPECT_THAT(said, testing::AllOf(HasSubstr(hub.options.cache),
                                       AnyOf(HasSubstr("No space left"), HasSubstr("Input/output error"))));
      hub.options.offline = true;
      const auto offline = hub.refusal(HubFiles::Weights, kModel);
      if (offline.starts_with("fetched ")) {
        expect_whole(hub, offline.substr(8));
      } else {
        EXPECT_THAT(offline, HasSubstr("is not in " + hub.options.cache));
      }
      hub.options.offline = false;
    }
    expect_whole(hub, hub.fetch(HubFiles::Weights, kModel));
    for (const auto& name : files().list(hub.path("blobs")))
      EXPECT_EQ(name.find('.'), name.npos) << name << " is left behind";
    EXPECT_EQ(files().list(hub.path("snapshots/" + kCommit)).size(), 3U);
    if (!broken.fired() || testing::Test::HasFailure()) break;
  }
  EXPECT_GT(n, 30);
  testing::internal::GetCapturedStderr();
}

// Two that fetch the same at once: the one that comes late finds the link.
TEST(HubDurability, AnothersLinkIsAsGood) {
  Hub hub;
  testing::internal::CaptureStderr();
  class Late : public FaultFiles {
   public:
    using FaultFiles::FaultFiles;
    void link(const std::string& target, const std::string& path) override {
      FaultFiles::link(target, path);  // the other's
      FaultFiles::link(target, path);
    }
  } late(files());
  {
    const ScopedFileSystem scope(late);
    expect_whole(hub, hub.fetch(HubFiles::Weights, kModel));
  }
  testing::internal::GetCapturedStderr();
}

// Of what was begun, what was not wanted need not be there.
TEST(HubDurability, ABrokenFetchOfWeightsLeavesItsTokenizer) {
  Hub hub;
  testing::internal::CaptureStderr();
  hub.listed_hashes["model.safetensors"] = sha256("another");
  EXPECT_THAT(hub.refusal(HubFiles::Weights, kModel), HasSubstr("SHA-256"));
  hub.options.offline = true;
  EXPECT_EQ(hub.refusal(HubFiles::Tokenizer, kModel), "fetched " + hub.path("snapshots/" + kCommit));
  EXPECT_THAT(hub.refusal(HubFiles::Weights, kModel),
              HasSubstr("yet (it lacks model.safetensors, by a note in "));
  files().remove(hub.path("snapshots/" + kCommit + "/tokenizer.json"));
  EXPECT_THAT(hub.refusal(HubFiles::Tokenizer, kModel),
              HasSubstr("yet (it lacks tokenizer.json, by a note in "));
  testing::internal::GetCapturedStderr();
}

TEST(HubDurability, SaysThatAFileSystemHasNoLinks) {
  Hub hub;
  testing::internal::CaptureStderr();
  FaultFiles without(files(), {.nth = 1, .error_number = EPERM, .operations = {FileOperation::Link}});
  const ScopedFileSystem scope(without);
  EXPECT_THAT(
      hub.refusal(HubFiles::Model),
      testing::AllOf(HasSubstr("config.json: cannot link: Operation not permitted"),
                     HasSubstr("hint: is there room, and has the file system of " + hub.options.cache +
                               " symbolic links? HF_HUB_CACHE names another folder")));
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace bora::store
