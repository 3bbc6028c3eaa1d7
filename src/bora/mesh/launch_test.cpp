// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/launch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "bora/base/error.h"

namespace bora::mesh {
namespace {

using Values = std::map<std::string, std::string>;

LaunchEnvironment read(const Values& values) {
  return launch_environment([&](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string seen(const Values& values) {
  const auto e = read(values);
  EXPECT_FALSE(e.host.empty());
  return fmt::format("{} {}/{} {}/{}", name_of(e.launcher), e.rank, e.size, e.local_rank, e.local_size);
}

std::string problem(const Values& values) {
  try {
    read(values);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Usage);
    const std::string text = e.what();
    const auto end = text.find('\n');
    EXPECT_EQ(text.substr(end),
              "\nhint: start the workers with one of mpirun, srun and torchrun, or unset these variables");
    return text.substr(0, end);
  }
  return "no error";
}

Values operator+(Values a, const Values& b) {
  a.insert(b.begin(), b.end());
  return a;
}

const Values kMpirun = {{"OMPI_COMM_WORLD_RANK", "5"},
                        {"OMPI_COMM_WORLD_SIZE", "8"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                        {"PMIX_RANK", "5"}};
const Values kStep = {{"SLURM_STEP_ID", "0"},        {"SLURM_PROCID", "3"},
                      {"SLURM_STEP_NUM_TASKS", "6"}, {"SLURM_LOCALID", "1"},
                      {"SLURM_NODEID", "1"},         {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1(x2)"}};
const Values kTorchrun = {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}};

TEST(Launch, EachLauncher) {
  EXPECT_EQ(seen({}), "none 0/1 0/1");
  EXPECT_EQ(seen(kMpirun), "mpirun 5/8 1/4");
  EXPECT_EQ(seen(kStep), "srun 3/6 1/2");
  EXPECT_EQ(seen(kTorchrun), "torchrun 3/4 1/2");
  EXPECT_EQ(seen({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}), "mpirun 1/2 0/1");
  EXPECT_EQ(seen({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "torchrun 0/1 0/1");
}

TEST(Launch, TheInnermostLauncherCounts) {
  EXPECT_EQ(seen(kMpirun + kStep), "mpirun 5/8 1/4");
  EXPECT_EQ(seen(kTorchrun + kStep), "torchrun 3/4 1/2");
  EXPECT_EQ(seen(kStep + Values{{"PMI_RANK", "3"}, {"PMI_SIZE", "6"}}), "srun 3/6 1/2");
}

TEST(Launch, ABatchScriptIsNoWorker) {
  EXPECT_EQ(seen({{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}), "none 0/1 0/1");
}

TEST(Launch, CopiesThatAgreeAreFine) {
  EXPECT_EQ(seen(kMpirun + Values{{"RANK", "5"}, {"WORLD_SIZE", "8"}}), "mpirun 5/8 1/4");
  EXPECT_EQ(seen(kStep + Values{{"WORLD_SIZE", "6"}}), "srun 3/6 1/2");
}

TEST(Launch, HalfSetVariables) {
  EXPECT_EQ(problem({{"RANK", "2"}}), "launch environment: RANK is 2 but WORLD_SIZE is not set");
  EXPECT_EQ(problem({{"WORLD_SIZE", "2"}}), "launch environment: WORLD_SIZE is 2 but RANK is not set");
  EXPECT_EQ(problem({{"OMPI_COMM_WORLD_SIZE", "2"}}),
            "launch environment: OMPI_COMM_WORLD_SIZE is 2 but OMPI_COMM_WORLD_RANK is not set");
  EXPECT_EQ(problem({{"SLURM_STEP_ID", "1"}, {"SLURM_PROCID", "0"}}),
            "launch environment: SLURM_PROCID is 0 but SLURM_STEP_NUM_TASKS is not set");
  EXPECT_EQ(problem({{"PMIX_RANK", "1"}}),
            "launch environment: PMIX_RANK is 1 but no variable tells the number of workers");
}

TEST(Launch, Contradictions) {
  EXPECT_EQ(problem({{"RANK", "4"}, {"WORLD_SIZE", "4"}}),
            "launch environment: RANK is 4 but WORLD_SIZE is 4");
  EXPECT_EQ(problem(kMpirun + Values{{"RANK", "4"}, {"WORLD_SIZE", "8"}}),
            "launch environment: RANK is 4 but OMPI_COMM_WORLD_RANK is 5");
  EXPECT_EQ(problem(kStep + Values{{"WORLD_SIZE", "8"}}),
            "launch environment: WORLD_SIZE is 8 but SLURM_STEP_NUM_TASKS is 6");
  EXPECT_EQ(problem({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}}),
            "launch environment: LOCAL_RANK is 2 but LOCAL_WORLD_SIZE is 2");
  EXPECT_EQ(problem({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "8"}}),
            "launch environment: LOCAL_WORLD_SIZE is 8 but WORLD_SIZE is 4");
  EXPECT_EQ(problem({{"RANK", "x"}, {"WORLD_SIZE", "4"}}),
            "launch environment: RANK should be a count but is \"x\"");
}

TEST(Launch, TheFirstOfAHostSpeaks) {
  const auto says = [](const Values& values) {
    for (const auto& [name, value] : values) ::setenv(name.c_str(), value.c_str(), 1);
    const bool speaks = is_to_speak();
    for (const auto& [name, value] : values) ::unsetenv(name.c_str());
    return speaks;
  };
  EXPECT_TRUE(says({}));
  EXPECT_TRUE(says({{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "2"}}));
  EXPECT_FALSE(says({{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}}));
  EXPECT_TRUE(says({{"RANK", "3"}})) << "half set: nobody else may";
}

}  // namespace
}  // namespace bora::mesh
