// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/start_weights.h"

#include <gtest/gtest.h>

#include "bora/base/file.h"

namespace bora::run {
namespace {

class BaseOfAdapters : public testing::Test {
 protected:
  BaseOfAdapters() { remove_all(folder_); }

  std::string run(const std::string& name, const Json& state) const {
    const auto directory = path_join(folder_, name), checkpoint = path_join(directory, "step-4");
    files().make_directories(checkpoint);
    write_atomically(path_join(checkpoint, "manifest.json"), "{}");
    write_atomically(path_join(checkpoint, "state.json"), state.dump());
    return directory;
  }
  static Json adapted(const std::string& base) { return {{"lora", Json::object()}, {"lora_base", base}}; }

  std::string folder_ = testing::TempDir() + "bora_base_of_adapters";
};

TEST_F(BaseOfAdapters, OfARunWithAdaptersIsItsOwnBase) {
  const auto plain = run("plain", Json::object());
  EXPECT_EQ(base_of_adapters(plain), plain);
  const auto first = run("first", adapted("llama-dir")), second = run("second", adapted(first));
  EXPECT_EQ(base_of_adapters(first), "llama-dir");
  EXPECT_EQ(base_of_adapters(path_join(first, "step-4")), "llama-dir");
  EXPECT_EQ(base_of_adapters(second), "llama-dir") << "records of before named the run";
  EXPECT_EQ(base_of_adapters(run("onto_plain", adapted(plain))), plain);
}

TEST_F(BaseOfAdapters, WhatIsNoRunIsTheBase) {
  EXPECT_EQ(base_of_adapters(""), "");
  EXPECT_EQ(base_of_adapters("owner/name"), "owner/name");
  EXPECT_EQ(base_of_adapters(run("unknown", {{"lora", Json::object()}})), "");
  const auto circle = path_join(folder_, "circle");
  EXPECT_EQ(base_of_adapters(run("circle", adapted(circle))), circle);
}

TEST_F(BaseOfAdapters, ARunThatGoesOnWithoutItsSourceKnowsItsBase) {
  const auto source = run("source", adapted("llama-dir")), own = run("own", adapted("llama-dir"));
  LmConfig config;
  config.trainer.initialize_from = source;
  EXPECT_EQ(base_of_adapters(config, path_join(folder_, "new")), "llama-dir");
  remove_all(source);
  EXPECT_EQ(base_of_adapters(config, own), "llama-dir");
  EXPECT_EQ(base_of_adapters(config, path_join(folder_, "new")), source);
}

}  // namespace
}  // namespace bora::run
