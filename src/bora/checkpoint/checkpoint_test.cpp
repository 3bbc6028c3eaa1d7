// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/checkpoint.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "bora/base/env.h"
#include "bora/base/fault_files.h"
#include "bora/base/text.h"
#include "bora/checkpoint/restore.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/checkpoint/test_files.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"

namespace bora::checkpoint {
namespace {

using test::error_of;
using test::Folder;
using test::kind_of;
using test::TinyRun;
using test::write_file;
using testing::ElementsAre;
using testing::HasSubstr;

// Restores the newest into a run of other values and returns its step, or -1; checks the bits.
std::int64_t restored_step(const std::string& directory,
                           const std::vector<std::pair<std::int64_t, const TinyRun*>>& written) {
  TinyRun live(999);
  const auto restored = restore_latest(directory, live.parameters(), live.optimizer());
  if (!restored) return -1;
  for (const auto& [step, run] : written) {
    if (step != restored->manifest.step) continue;
    EXPECT_TRUE(live.equals(*run)) << step;
    EXPECT_EQ(restored->state["loader"], step * 7);
  }
  return restored->manifest.step;
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> out;
  for (const auto& path : committed_checkpoints(directory)) out.push_back(base_name(path));
  return out;
}

TEST(Checkpoint, SavesAndRestoresBitForBit) {
  Folder folder;
  const TinyRun run(1);
  const Manifest manifest = save_checkpoint(folder / "run", run.content(400));
  EXPECT_THAT(files().list(folder / "run/step-400"),
              ElementsAre("manifest.json", "model-00001-of-00001.safetensors",
                          "optimizer-00001-of-00001.safetensors", "state.json"));
  EXPECT_THAT(files().list(folder / "run"), ElementsAre("step-400"));
  EXPECT_EQ(read_manifest(folder / "run/step-400"), manifest);
  EXPECT_EQ(manifest.step, 400);
  EXPECT_EQ(manifest.lanes, 4);
  EXPECT_EQ(manifest.config_hash, "c0ffee");
  EXPECT_FALSE(manifest.temporary);
  EXPECT_EQ(verify_checkpoint(folder / "run/step-400"), manifest);

  TinyRun live(2);
  const float* place = live.arrays[0].array.data<float>();
  const Restored restored = restore_checkpoint(folder / "run/step-400", live.parameters(), live.optimizer());
  EXPECT_TRUE(live.equals(run));
  EXPECT_EQ(live.arrays[0].array.data<float>(), place);  // in place
  EXPECT_EQ(restored.state["step"], 400);
}

TEST(Checkpoint, ShardsByBudget) {
  Folder folder;
  const TinyRun run(1);
  save_checkpoint(folder / "run", run.content(5), {.max_shard_bytes = 1300});
  EXPECT_THAT(files().list(folder / "run/step-5"), testing::Contains("model-00002-of-00002.safetensors"));
  EXPECT_EQ(restored_step(folder / "run", {{5, &run}}), 5);
}

TEST(Checkpoint, ParametersAloneForAnotherRun) {
  Folder folder;
  const TinyRun run(1);
  save_checkpoint(folder / "run", run.content(5));
  TinyRun live(2);
  restore_parameters(find_checkpoint(folder / "run"), live.parameters());
  EXPECT_EQ(live.arrays[0].array.to_vector<float>(), run.arrays[0].array.to_vector<float>());
  EXPECT_NE(live.arrays[2].array.to_vector<float>(), run.arrays[2].array.to_vector<float>());
  EXPECT_EQ(find_checkpoint(folder / "run/step-5"), folder / "run/step-5");
  EXPECT_EQ(error_of([&] { find_checkpoint(folder / "no"); }),
            folder / "no: is no checkpoint and holds none\nhint: give a run's folder, or step-N in it");
}

TEST(Checkpoint, IsNeverOverwritten) {
  Folder folder;
  const TinyRun run(1);
  save_checkpoint(folder.path(), run.content(5));
  EXPECT_EQ(error_of([&] { save_checkpoint(folder.path(), run.content(5)); }),
            "while saving step-5: " + (folder / "step-5") +
                " exists, and checkpoints are never overwritten\nhint: use another run id");
}

TEST(Checkpoint, DiscoversCommittedDirectoriesOnly) {
  Folder folder;
  const TinyRun run(1);
  EXPECT_THAT(names_in(folder / "absent"), ElementsAre());
  for (const std::int64_t step : {100, 20, 3}) save_checkpoint(folder.path(), run.content(step));
  for (const char* name : {"step-7", "step-0020", "step-x", ".step-9.tmp-1-0", "step-8.damaged"}) {
    files().make_directories(folder / name);
  }
  write_file(folder / "step-9", "");
  for (const char* name : {"step-0020", "step-8.damaged", ".step-9.tmp-1-0"}) {
    write_file(path_join(folder / name, "manifest.json"), "{}");
  }
  EXPECT_THAT(names_in(folder.path()), ElementsAre("step-3", "step-20", "step-100"));
  std::vector<std::string> all;
  for (const auto& path : named_checkpoints(folder.path())) all.push_back(base_name(path));
  EXPECT_THAT(all, ElementsAre("step-3", "step-7", "step-9", "step-20", "step-100"));
  EXPECT_EQ(restored_step(folder.path(), {}), 100);
}

TEST(Checkpoint, LeftoversAreCleaned) {
  Folder folder;
  save_checkpoint(folder.path(), TinyRun(1).content(5));
  for (const char* name : {".step-9.tmp-1-0", ".step-4.removed", ".step-x.tmp-1-0", "other"}) {
    files().make_directories(folder / name);
    write_file(path_join(folder / name, "file"), "x");
  }
  for (const char* name : {".run.json.12.0.tmp", ".lock", ".x.tmp", ".a.b.c.tmp"})
    write_file(folder / name, "x");
  clean_leftovers(folder.path());
  EXPECT_THAT(files().list(folder.path()),
              ElementsAre(".a.b.c.tmp", ".lock", ".step-x.tmp-1-0", ".x.tmp", "other", "step-5"));
}

TEST(Checkpoint, BecomesPermanent) {
  Folder folder;
  const TinyRun run(1);
  save_checkpoint(folder.path(), run.content(5, true));
  EXPECT_TRUE(read_manifest(folder / "step-5").temporary);
  make_permanent(folder / "step-5");
  EXPECT_FALSE(verify_checkpoint(folder / "step-5").temporary);
  EXPECT_EQ(restored_step(folder.path(), {{5, &run}}), 5);
}

TEST(Checkpoint, ErrorsNameTheParameterAndBothShapes) {
  Folder folder;
  save_checkpoint(folder.path(), TinyRun(1).content(400));
  const std::string path = folder / "step-400";
  TinyRun wide(2, 41);
  EXPECT_EQ(
      error_of([&] { restore_checkpoint(path, wide.parameters(), wide.optimizer()); }),
      "while restoring layers.0.up.weight from step-400: the checkpoint has [mlp=8, embed=40], the model has "
      "[mlp=8, embed=41]\nhint: the configuration's model differs from the one that was saved");
  TinyRun turned(2, 8);
  Folder square;
  save_checkpoint(square.path(), turned.content(1));
  turned.arrays[0].names = {"embed", "mlp"};
  EXPECT_THAT(
      error_of([&] { restore_checkpoint(square / "step-1", turned.parameters(), turned.optimizer()); }),
      HasSubstr("the checkpoint has [mlp=8, embed=8], the model has [embed=8, mlp=8]"));
  TinyRun renamed(2);
  renamed.arrays[1].path = "layers.0.up.bios";
  EXPECT_EQ(
      error_of([&] { restore_checkpoint(path, renamed.parameters(), renamed.optimizer()); }),
      "while restoring layers.0.up.bios from step-400: the checkpoint does not hold it; did you mean "
      "`layers.0.up.bias`?\n"
      "hint: the configuration's model, optimizer or trainer.freeze differs from the one that was saved");
  const TinyRun less(2);
  EXPECT_EQ(
      error_of([&] { restore_checkpoint(path, std::vector{less.arrays[0]}, less.optimizer()); }),
      "while restoring from step-400: the checkpoint holds 1 arrays more than the run, e.g. "
      "layers.0.up.bias\n"
      "hint: the configuration's model, optimizer or trainer.freeze differs from the one that was saved");
  EXPECT_EQ(restored_step(folder.path(), {}), 400);  // a mismatch is no damage: nothing was renamed
}

TEST(Checkpoint, NothingIsWrittenUnlessAllFits) {
  Folder folder;
  save_checkpoint(folder.path(), TinyRun(1).content(400));
  TinyRun live(2);
  const TinyRun before(2);
  live.arrays[3].path = "nu/other";
  EXPECT_NE(error_of([&] { restore_checkpoint(folder / "step-400", live.parameters(), live.optimizer()); }),
            "no error");
  EXPECT_TRUE(live.equals(before));
}

TEST(Checkpoint, ReadsNarrowFloatsIntoFp32) {
  Folder folder;
  TinyRun run(1), live(2);
  std::vector<CheckpointArray> narrow = run.parameters();
  std::vector<std::uint16_t> bits(320, 0x3f80);  // 1 in bf16
  const std::int64_t sizes[] = {8, 40};
  const std::string_view axes[] = {"mlp", "embed"};
  narrow[0].array = core::from_bytes({axes, sizes}, core::DType::bf16, std::as_bytes(std::span(bits)));
  auto content = run.content(1);
  content.parameters = narrow;
  save_checkpoint(folder.path(), content);
  restore_parameters(folder / "step-1", live.parameters());
  EXPECT_EQ(live.arrays[0].array.to_vector<float>(), std::vector<float>(320, 1.0f));
  std::vector<std::int32_t> whole(320);
  narrow[0].array = core::from_data({axes, sizes}, std::span<const std::int32_t>(whole));
  EXPECT_EQ(error_of([&] {
              save_checkpoint(folder / "b", run.content(1));
              restore_parameters(folder / "b/step-1", narrow);
            }),
            "while restoring layers.0.up.weight from step-1: the checkpoint has F32, the model i32");
}

// As moments are kept, after a change of optimizer.state_dtype too: to the nearest, and what was bf16 comes back.
TEST(Checkpoint, KeepsAndReadsBf16) {
  Folder folder;
  TinyRun run(1), live(2);
  const std::int64_t sizes[] = {8, 40};
  const std::string_view axes[] = {"mlp", "embed"};
  save_checkpoint(folder.path(), run.content(1));
  auto narrow = run.parameters();
  narrow[0].array = core::zeros({axes, sizes}, core::DType::bf16);
  restore_parameters(folder / "step-1", narrow);
  const core::Array nearest = core::cast({run.arrays[0].array, axes}, core::DType::bf16);
  EXPECT_EQ(narrow[0].array.to_vector<float>(), nearest.to_vector<float>());
  auto content = run.content(2);
  content.parameters = narrow;
  save_checkpoint(folder.path(), content);
  auto again = run.parameters();
  again[0].array = core::zeros({axes, sizes}, core::DType::bf16);
  restore_parameters(folder / "step-2", again);
  EXPECT_EQ(again[0].array.to_vector<float>(), nearest.to_vector<float>());
  restore_parameters(folder / "step-2", live.parameters());
  EXPECT_EQ(live.arrays[0].array.to_vector<float>(), nearest.to_vector<float>());
  // A worker's shard: columns 13 to 26 of 40.
  again[0].array = core::zeros({axes, std::vector<std::int64_t>{8, 13}}, core::DType::bf16);
  again[0].cut = mesh::AxisCut(sizes, 1, 3);
  again[0].worker = 1;
  restore_parameters(folder / "step-1", again);
  const auto shard = again[0].array.to_vector<float>(), all = nearest.to_vector<float>();
  for (std::size_t row = 0; row < 8; ++row) {
    for (std::size_t column = 0; column < 13; ++column)
      ASSERT_EQ(shard[row * 13 + column], all[row * 40 + 13 + column]) << row << ", " << column;
  }
}

TEST(DamagedCheckpoint, FallsBackAndSaysWhy) {
  Folder folder;
  const TinyRun older(1), newer(2);
  save_checkpoint(folder.path(), older.content(500));
  save_checkpoint(folder.path(), newer.content(600));
  const std::string victim = folder / "step-600/model-00001-of-00001.safetensors";
  std::string bytes = read_text(victim);
  bytes[bytes.size() - 5] ^= 1;
  write_file(victim, bytes);
  EXPECT_EQ(
      error_of([&] { verify_checkpoint(folder / "step-600"); }),
      "step-600: model-00001-of-00001.safetensors: hash differs from the manifest (byte range 0-1,551); "
      "the file is damaged");
  EXPECT_EQ(naming_another(folder / "step-600", "step-600: bad\nhint: x"),
            folder / "step-600: bad\nhint: " + (folder / "step-500 is whole"));
  EXPECT_EQ(naming_another(folder / "step-500", "step-500: bad\nhint: x"), folder / "step-500: bad\nhint: x");
  testing::internal::CaptureStderr();
  EXPECT_EQ(restored_step(folder.path(), {{500, &older}}), 500);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(
      log, HasSubstr("warning: step-600: model-00001-of-00001.safetensors: hash differs from the manifest"));
  EXPECT_THAT(log, HasSubstr("kept as step-600.damaged"));
  EXPECT_THAT(log, HasSubstr("resuming from step-500 instead (verified)"));
  EXPECT_THAT(files().list(folder.path()), ElementsAre("step-500", "step-600.damaged"));
  save_checkpoint(folder.path(), newer.content(600));  // its name is free again
}

// What was verified before a start's other work is read once more only if its files have changed since.
TEST(DamagedCheckpoint, AfterItWasVerified) {
  Folder folder;
  const TinyRun older(1), newer(2);
  TinyRun live(9);
  save_checkpoint(folder.path(), older.content(500));
  save_checkpoint(folder.path(), newer.content(600));
  const auto verified = verify_for_restore(folder / "step-600");
  const auto step = [&] {
    return restore_latest(folder.path(), live.parameters(), live.optimizer(), {.verified = &verified})
        ->manifest.step;
  };
  EXPECT_EQ(step(), 600);
  EXPECT_TRUE(live.equals(newer));
  const std::string victim = folder / "step-600/model-00001-of-00001.safetensors";
  std::string bytes = read_text(victim);
  bytes[bytes.size() - 5] ^= 1;
  write_atomically(victim, bytes);
  testing::internal::CaptureStderr();
  EXPECT_EQ(step(), 500);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("hash differs from the manifest"));
  EXPECT_TRUE(live.equals(older));
}

TEST(DamagedCheckpoint, AllDamagedIsAnErrorNotAFreshStart) {
  Folder folder;
  save_checkpoint(folder.path(), TinyRun(1).content(5));
  write_file(folder / "step-5/state.json", "");
  testing::internal::CaptureStderr();
  EXPECT_EQ(error_of([&] { restored_step(folder.path(), {}); }),
            folder.path() +
                ": no valid checkpoint is left; the oldest: step-5: state.json: has 0 bytes, the manifest "
                "says 32; the "
                "file is truncated\nhint: nothing was changed; start over with --fresh, which keeps this "
                "directory under another name");
  testing::internal::GetCapturedStderr();
  EXPECT_THAT(files().list(folder.path()), ElementsAre("step-5"));
  files().rename(folder / "step-5", folder / "step-5.damaged");
  EXPECT_THAT(error_of([&] { restored_step(folder.path(), {}); }),
              HasSubstr(": no valid checkpoint is left; the oldest: step-5.damaged\n"));
  EXPECT_EQ(restored_step(folder / "none", {}), -1);
}

// Whatever stands under the name of a checkpoint would be in the way when its step is saved again.
TEST(DamagedCheckpoint, IncompleteOnesAreSetAside) {
  const TinyRun older(1);
  const std::vector<std::pair<std::string, std::function<void(const std::string&)>>> ways = {
      {"has no manifest.json; it is incomplete", [](const auto& path) { files().make_directories(path); }},
      {"has no manifest.json; it is incomplete", [](const auto& path) { write_file(path, "a file"); }},
      {"has no manifest.json; it is incomplete",
       [](const auto& path) { ASSERT_EQ(::symlink("nowhere", path.c_str()), 0); }},
      {"has no manifest.json; it is incomplete",
       [](const auto& path) {
         save_checkpoint(parent_path(path), TinyRun(3).content(*step_of_name(base_name(path))));
         files().remove(path_join(path, "manifest.json"));
       }},
  };
  for (const auto& [words, spoil] : ways) {
    Folder folder;
    save_checkpoint(folder.path(), older.content(500));
    for (const char* name : {"step-600", "step-700"}) spoil(folder / name);
    testing::internal::CaptureStderr();
    EXPECT_EQ(restored_step(folder.path(), {{500, &older}}), 500);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr("warning: step-600: " + words));
    EXPECT_THAT(log, HasSubstr("warning: step-700: " + words));
    EXPECT_THAT(log, HasSubstr("kept as step-700.damaged"));
    EXPECT_THAT(log, HasSubstr("resuming from step-500 instead (verified)"));
    EXPECT_THAT(files().list(folder.path()), ElementsAre("step-500", "step-600.damaged", "step-700.damaged"));
    save_checkpoint(folder.path(), older.content(600));
    EXPECT_EQ(restored_step(folder.path(), {{600, &older}}), 600);
  }
}

TEST(DamagedCheckpoint, ALinkToOneCounts) {
  Folder folder;
  const TinyRun run(1);
  save_checkpoint(folder / "elsewhere", run.content(5));
  files().make_directories(folder / "run");
  ASSERT_EQ(::symlink("../elsewhere/step-5", (folder / "run/step-5").c_str()), 0);
  EXPECT_EQ(restored_step(folder / "run", {{5, &run}}), 5);
  remove_checkpoint(folder / "run/step-5");
  EXPECT_EQ(restored_step(folder / "elsewhere", {{5, &run}}), 5);
}

// Every reading operation of a resume fails in turn: the run goes on from one of the two, whole.
TEST(DamagedCheckpoint, WhatCannotBeReadIsLeftForTheOneBefore) {
  const TinyRun older(1), newer(2);
  std::int64_t fallbacks = 0;
  for (std::int64_t n = 1;; ++n) {
    Folder folder;
    save_checkpoint(folder.path(), older.content(500));
    save_checkpoint(folder.path(), newer.content(600));
    FaultFiles broken(
        files(), {.nth = n, .error_number = EIO, .operations = {FileOperation::Open, FileOperation::Read}});
    std::int64_t step = 0;
    testing::internal::CaptureStderr();
    {
      ScopedFileSystem scope(broken);
      step = restored_step(folder.path(), {{500, &older}, {600, &newer}});
    }
    const std::string log = testing::internal::GetCapturedStderr();
    if (!broken.fired()) {
      EXPECT_EQ(step, 600);
      break;
    }
    EXPECT_EQ(step, 500) << broken.fired_at();
    ++fallbacks;
    EXPECT_THAT(log,
                testing::ContainsRegex("warning: .*/step-600/.*: cannot (open|read): Input/output error"));
    EXPECT_THAT(log, HasSubstr("resuming from step-500 instead (verified)"));
    EXPECT_THAT(files().list(folder.path()), ElementsAre("step-500", "step-600.damaged"));
  }
  EXPECT_GT(fallbacks, 8);
}

TEST(DamagedCheckpoint, ThatCannotBeRenamedEndsTheRun) {
  Folder folder;
  save_checkpoint(folder.path(), TinyRun(1).content(500));
  files().make_directories(folder / "step-600");
  FaultFiles broken(files(), {.nth = 1, .error_number = EACCES, .operations = {FileOperation::Rename}});
  ScopedFileSystem scope(broken);
  testing::internal::CaptureStderr();
  EXPECT_THAT(error_of([&] { restored_step(folder.path(), {}); }),
              testing::StartsWith("while setting a damaged checkpoint aside: " + (folder / "step-600") +
                                  ": cannot rename: Permission denied"));
  testing::internal::GetCapturedStderr();
}

TEST(DamagedCheckpoint, ThatDoesNotFitRenamesNothing) {
  Folder folder;
  save_checkpoint(folder.path(), TinyRun(1, 41).content(500));
  files().make_directories(folder / "step-600");
  testing::internal::CaptureStderr();
  EXPECT_THAT(error_of([&] { restored_step(folder.path(), {}); }),
              HasSubstr("the checkpoint has [mlp=8, embed=41], the model has [mlp=8, embed=40]"));
  testing::internal::GetCapturedStderr();
  EXPECT_THAT(files().list(folder.path()), ElementsAre("step-500", "step-600"));
}

// Hashes that are right say nothing about the values.
TEST(ImpossibleState, IsDamage) {
  const TinyRun run(1);
  const auto error = [&](const Json& state) {
    Folder folder;
    auto content = run.content(400);
    content.state = state;
    save_checkpoint(folder.path(), content);
    TinyRun live(2);
    return error_of([&] { restore_checkpoint(folder / "step-400", live.parameters(), live.optimizer()); });
  };
  EXPECT_EQ(error({{"step", 400}, {"tokens", 7}}), "no error");
  EXPECT_EQ(error({{"step", 399}}), "step-400/state.json: step is 399, the manifest says 400");
  EXPECT_EQ(error({{"step", -1}}), "step-400/state.json: step is -1, the manifest says 400");
  EXPECT_EQ(error({{"step", 1e300}}), "step-400/state.json: step should be an integer but is 1e+300");
  EXPECT_EQ(error({{"step", "400"}}), "step-400/state.json: step should be an integer but is \"400\"");
  EXPECT_EQ(error({{"tokens", 7}}), "step-400/state.json: step is missing");
  EXPECT_EQ(error(Json::array()), "step-400/state.json: should be an object with step but is a list");
  EXPECT_EQ(error({{"step", 400}, {"tokens", -5}}),
            "step-400/state.json: tokens is -5; it must be from 0 to 9007199254740992");
  EXPECT_EQ(error({{"step", 400}, {"tokens", INT64_MAX}}),
            "step-400/state.json: tokens is 9223372036854775807; it must be from 0 to 9007199254740992");
  EXPECT_EQ(error({{"step", 400}, {"tokens", "many"}}),
            "step-400/state.json: tokens should be an integer but is \"many\"");
}

TEST(ImpossibleState, ThatTheTrainerRefusesIsDamageToo) {
  Folder folder;
  const TinyRun older(1), newer(2);
  save_checkpoint(folder.path(), older.content(500));
  save_checkpoint(folder.path(), newer.content(600));
  TinyRun live(3);
  const auto take = [](const Json& state) {
    if (state["step"] == 600) fail(ErrorKind::Corruption, "state.json: windows is [null]");
  };
  testing::internal::CaptureStderr();
  const auto restored =
      restore_latest(folder.path(), live.parameters(), live.optimizer(), {.take_state = take});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("warning: step-600: state.json: windows is [null]"));
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->manifest.step, 500);
  EXPECT_TRUE(live.equals(older));
}

TEST(ImpossibleState, TheManifestMustListTheState) {
  Folder folder;
  save_checkpoint(folder.path(), TinyRun(1).content(5));
  Manifest manifest = read_manifest(folder / "step-5");
  std::erase_if(manifest.files, [](const FileRecord& file) { return file.name == "state.json"; });
  write_atomically(folder / "step-5/manifest.json", manifest_text(manifest));
  EXPECT_EQ(error_of([&] { verify_checkpoint(folder / "step-5"); }),
            "step-5: its manifest lists no state.json");
}

TEST(DamagedCheckpoint, LocatesTheBlock) {
  Folder folder;
  TinyRun big(1, 200000);  // 6.4 MB of weights
  save_checkpoint(folder.path(), big.content(1));
  const std::string victim = folder / "step-1/model-00001-of-00001.safetensors";
  std::string bytes = read_text(victim);
  bytes[5'000'000] ^= 4;
  write_file(victim, bytes);
  EXPECT_THAT(error_of([&] { verify_checkpoint(folder / "step-1"); }),
              HasSubstr(fmt::format("(byte range 4,194,304-{},", bytes.size() / 1'000'000)));
}

TEST(DamagedCheckpoint, MissingFilesAndForeignManifests) {
  Folder folder;
  save_checkpoint(folder.path(), TinyRun(1).content(5));
  files().remove(folder / "step-5/state.json");
  EXPECT_EQ(error_of([&] { verify_checkpoint(folder / "step-5"); }), "step-5: state.json is missing");
  save_checkpoint(folder.path(), TinyRun(1).content(6));
  files().rename(folder / "step-6", folder / "step-7");
  EXPECT_EQ(error_of([&] { verify_checkpoint(folder / "step-7"); }), "step-7: its manifest is of step 6");
}

// Every bit of the small files, and of many bytes of the large ones.
TEST(DamagedCheckpoint, EveryBitFlipAndTruncationIsDetected) {
  Folder folder;
  const TinyRun run(1);
  save_checkpoint(folder.path(), run.content(5));
  std::int64_t trials = 0;
  for (const std::string& name : files().list(folder / "step-5")) {
    const std::string path = path_join(folder / "step-5", name);
    const std::string whole = read_text(path);
    const std::size_t stride = name.ends_with(".json") ? 1 : 25;  // of bits; 25: another of each byte
    for (std::size_t bit = 0; bit < 8 * whole.size(); bit += stride, ++trials) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
      write_file(path, flipped);
      EXPECT_THAT(error_of([&] { verify_checkpoint(folder / "step-5"); }),
                  AllOf(HasSubstr("step-5"), HasSubstr(name), HasSubstr("damaged")))
          << name << " " << bit;
    }
    for (std::size_t cut = 1; cut <= std::min<std::size_t>(64, whole.size()); ++cut, ++trials) {
      write_file(path, whole.substr(0, whole.size() - cut));
      EXPECT_EQ(kind_of([&] { verify_checkpoint(folder / "step-5"); }), ErrorKind::Corruption)
          << name << " -" << cut;
    }
    write_file(path, whole);
  }
  EXPECT_GT(trials, 5000);
  EXPECT_EQ(restored_step(folder.path(), {{5, &run}}), 5);
}

// Random bytes of a larger one, and cuts at every page. BORA_TEST_FLIPS is how many bytes.
TEST(DamagedCheckpoint, RandomFlipsAndCutsAtPagesAreDetected) {
  Folder folder;
  const TinyRun older(1, 4000), run(2, 4000);
  save_checkpoint(folder.path(), older.content(4));
  save_checkpoint(folder.path(), run.content(5));
  const auto flips = parse_int(env::for_tests("BORA_TEST_FLIPS").value_or("150")).value_or(150);
  const Key key = Key::from_seed(11);
  const auto path = folder / "step-5/model-00001-of-00001.safetensors";
  const std::string whole = read_text(path);
  for (std::int64_t i = 0; i < flips; ++i) {
    const auto at = key.below(whole.size(), static_cast<std::uint64_t>(2 * i));
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << key.below(8, static_cast<std::uint64_t>(2 * i + 1))));
    write_file(path, flipped);
    ASSERT_EQ(kind_of([&] { verify_checkpoint(folder / "step-5"); }), ErrorKind::Corruption) << at;
  }
  for (std::size_t size = 0; size < whole.size(); size += 4096) {
    write_file(path, whole.substr(0, size));
    ASSERT_EQ(kind_of([&] { verify_checkpoint(folder / "step-5"); }), ErrorKind::Corruption) << size;
  }
  testing::internal::CaptureStderr();
  TinyRun live(3, 4000);
  const auto restored = restore_latest(folder.path(), live.parameters(), live.optimizer());
  testing::internal::GetCapturedStderr();
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->manifest.step, 4) << "the one before";
  EXPECT_TRUE(live.equals(older));
}

TEST(Manifest, NewerVersionsAreRefused) {
  Manifest manifest;
  manifest.version = 2;
  EXPECT_EQ(error_of([&] { parse_manifest(manifest_text(manifest), "m"); }),
            "m: has format version 2, this program reads up to 1\nhint: use a newer Bora");
  EXPECT_EQ(kind_of([&] { parse_manifest(manifest_text(manifest), "m"); }), ErrorKind::Unsupported);
  EXPECT_EQ(error_of([&] { parse_manifest("{}", "m"); }),
            "m: its own hash does not fit; the manifest is damaged");
}

TEST(Manifest, ImpossibleValues) {
  const auto error = [](const std::function<void(Manifest&)>& spoil) {
    Manifest manifest;
    spoil(manifest);
    return error_of([&] { parse_manifest(manifest_text(manifest), "m"); });
  };
  EXPECT_EQ(error([](Manifest&) {}), "no error");
  EXPECT_EQ(error([](Manifest& m) { m.step = -1; }), "m: step is -1; it must be from 0 to 9007199254740992");
  EXPECT_EQ(error([](Manifest& m) { m.step = INT64_MAX; }),
            "m: step is 9223372036854775807; it must be from 0 to 9007199254740992");
  for (const std::int64_t lanes : {INT64_MIN, std::int64_t{-4}, std::int64_t{0}, std::int64_t{3}}) {
    EXPECT_EQ(error([&](Manifest& m) { m.lanes = lanes; }),
              fmt::format("m: lanes is {}; it must be a power of two, at least 1", lanes));
  }
  EXPECT_EQ(error([](Manifest& m) { m.time = -1; }), "m: time is -1; it must be seconds since 1970");
}

TEST(Manifest, FileNamesArePlain) {
  for (const std::string& name :
       {std::string("../x"), std::string("/x"), std::string(""), std::string("..")}) {
    Manifest manifest;
    manifest.files.push_back({.name = name});
    EXPECT_EQ(error_of([&] { parse_manifest(manifest_text(manifest), "m"); }),
              "m: \"" + name + "\" of 0 bytes cannot be a file of a checkpoint");
  }
  Manifest manifest;
  manifest.files.push_back({.name = "x", .size = 5});
  EXPECT_EQ(error_of([&] { parse_manifest(manifest_text(manifest), "m"); }),
            "m: x of 5 bytes has 0 chunk hashes");
}

struct FaultCase {
  int error_number;
  bool short_write, stays_broken;
};

class CheckpointFaults : public testing::TestWithParam<FaultCase> {};

// Fails every operation of a save in turn. Whatever fails: the checkpoint before it loads bit for bit,
// nothing half written is visible, and the error names a path and the reason.
TEST_P(CheckpointFaults, NothingHalfWrittenIsEverVisible) {
  Folder folder;
  const std::string directory = folder / "run";
  const TinyRun older(1), newer(2);
  save_checkpoint(directory, older.content(100));
  testing::internal::CaptureStderr();
  std::int64_t n = 1;
  for (;; ++n) {
    FaultFiles broken(files(), {.nth = n,
                                .error_number = GetParam().error_number,
                                .short_write = GetParam().short_write,
                                .stays_broken = GetParam().stays_broken});
    std::string error = "no error";
    {
      ScopedFileSystem scope(broken);
      error = error_of([&] { save_checkpoint(directory, newer.content(200)); });
    }
    if (!broken.fired()) {
      EXPECT_EQ(error, "no error");
      break;
    }
    EXPECT_THAT(error, HasSubstr("while saving step-200: ")) << broken.fired_at();
    EXPECT_THAT(error, HasSubstr(directory)) << broken.fired_at();
    EXPECT_THAT(error, HasSubstr(std::strerror(GetParam().error_number))) << broken.fired_at();
    // Only the last fsync of the directory comes after the rename; then the new one is there, whole.
    const std::int64_t step = restored_step(directory, {{100, &older}, {200, &newer}});
    EXPECT_TRUE(step == 100 || (step == 200 && broken.fired_at().starts_with("sync directory")))
        << broken.fired_at();
    if (!GetParam().stays_broken) {
      EXPECT_EQ(files().list(directory).size(), step == 100 ? 1u : 2u) << broken.fired_at();
    }
    clean_leftovers(directory);
    if (step == 200) remove_checkpoint(path_join(directory, "step-200"));
    EXPECT_THAT(files().list(directory), ElementsAre("step-100")) << broken.fired_at();
  }
  testing::internal::GetCapturedStderr();
  EXPECT_GT(n, 20);
  EXPECT_EQ(restored_step(directory, {{200, &newer}}), 200);
}

INSTANTIATE_TEST_SUITE_P(All, CheckpointFaults,
                         testing::Values(FaultCase{ENOSPC, true, false}, FaultCase{EIO, false, false},
                                         FaultCase{EIO, true, true}, FaultCase{EDQUOT, false, true}),
                         [](const auto& fault) { return "case" + std::to_string(fault.index); });

// Writes down what it is asked to do.
class TracedFiles : public FaultFiles {
 public:
  explicit TracedFiles(FileSystem& inner) : FaultFiles(inner) {}
  std::unique_ptr<WriteFile> create(const std::string& path, Access access) override {
    class Traced : public WriteFile {
     public:
      Traced(std::unique_ptr<WriteFile> inner, std::string name, std::vector<std::string>& trace)
          : inner_(std::move(inner)), name_(std::move(name)), trace_(trace) {}
      void write(std::span<const std::byte> bytes) override {
        if (trace_.empty() || trace_.back() != "write " + name_) trace_.push_back("write " + name_);
        inner_->write(bytes);
      }
      void sync() override {
        trace_.push_back("sync " + name_);
        inner_->sync();
      }
      void close() override { inner_->close(); }

     private:
      std::unique_ptr<WriteFile> inner_;
      std::string name_;
      std::vector<std::string>& trace_;
    };
    return std::make_unique<Traced>(FaultFiles::create(path, access), base_name(path), trace);
  }
  void rename(const std::string& from, const std::string& to) override {
    trace.push_back("rename to " + base_name(to));
    FaultFiles::rename(from, to);
  }
  void sync_directory(const std::string& path) override {
    trace.push_back(base_name(path).starts_with(".step-5.tmp-") ? "sync temporary"
                                                                : "sync " + base_name(path));
    FaultFiles::sync_directory(path);
  }
  std::vector<std::string> trace;
};

// What a power failure may keep is decided by the order of writes, fsyncs and the rename.
TEST(Durability, EverythingIsOnDiskBeforeItBecomesVisible) {
  Folder folder;
  TracedFiles traced(files());
  {
    ScopedFileSystem scope(traced);
    save_checkpoint(folder / "run", TinyRun(1).content(5));
  }
  const std::string model = "model-00001-of-00001.safetensors",
                    optimizer = "optimizer-00001-of-00001.safetensors";
  EXPECT_THAT(traced.trace,
              ElementsAre("write " + model, "sync " + model, "write " + optimizer, "sync " + optimizer,
                          "write state.json", "sync state.json", "write manifest.json", "sync manifest.json",
                          "sync temporary", "rename to step-5", "sync run"));
  traced.trace.clear();
  {
    ScopedFileSystem scope(traced);
    remove_checkpoint(folder / "run/step-5");
  }
  EXPECT_THAT(traced.trace, ElementsAre("rename to .step-5.removed", "sync run"));
}

// A file system with little space left.
class FullFiles : public FaultFiles {
 public:
  FullFiles(FileSystem& inner, Fault fault) : FaultFiles(inner, std::move(fault)) {}
  std::uint64_t free_space(const std::string&) override { return 1000; }
};

TEST(FullDisk, WarnsBeforeAndSaysHowMuchIsNeeded) {
  Folder folder;
  FullFiles full(
      files(), {.nth = 2, .error_number = ENOSPC, .operations = {FileOperation::Write}, .short_write = true});
  ScopedFileSystem scope(full);
  testing::internal::CaptureStderr();
  const std::string error = error_of([&] { save_checkpoint(folder.path(), TinyRun(1).content(5)); });
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("warning: the checkpoint needs 2.66 kB, 1.00 kB are free in " + folder.path()));
  EXPECT_THAT(error, HasSubstr("model-00001-of-00001.safetensors: cannot write: No space left on device\n"
                               "hint: the checkpoint needs 2.66 kB, 1.00 kB are free in " +
                               folder.path()));
  EXPECT_EQ(names_in(folder.path()).size(), 0u);
}

}  // namespace
}  // namespace bora::checkpoint
