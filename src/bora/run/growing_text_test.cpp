// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/growing_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "bora/data/background_build.h"
#include "bora/mesh/test_communicator.h"

namespace bora::run {
namespace {

using namespace std::chrono_literals;
using mesh::Communicator;
using mesh::testing::run_workers;
using testing::HasSubstr;

// A worker with a cache that grows for ever, unless its build ends.
class Waiting {
 public:
  explicit Waiting(Communicator& workers, bool is_growing = true) : console_({.quiet = true}) {
    if (is_growing) text_.build = std::make_shared<data::BackgroundBuild>();
    growing_.emplace(text_, console_, workers, [this] { ++known_; });
  }
  GrowingText& operator*() { return *growing_; }
  /// There is nothing to be built.
  void build_to_the_end() { text_.build->run(1); }
  int known() const { return known_; }

 private:
  TextData text_{Tokenizer(nullptr), {}, {}, nullptr};
  track::Console console_;
  int known_ = 0;
  std::optional<GrowingText> growing_;
};

TEST(GrowingText, WorkersWaitForTheOneThatWaitsForItsData) {
  std::atomic<bool> came = false, went_on_early = false;
  const auto errors = run_workers({.count = 2}, [&](Communicator& c) {
    Waiting waiting(c);
    std::jthread data;
    if (c.rank() == 0)
      data = std::jthread([&] {
        std::this_thread::sleep_for(1200ms);  // several turns
        came = true;
      });
    (*waiting).wait([&] { return c.rank() == 1 || came; });
    if (!came) went_on_early = true;
  });
  EXPECT_EQ(errors, (std::vector<std::string>{"", ""}));
  EXPECT_FALSE(went_on_early);
}

TEST(GrowingText, OneThatHangsIsNamedHoweverLongTheDataTakes) {
  std::atomic<bool> noticed = false;
  const auto errors = run_workers({.count = 2, .deadline = 1}, [&](Communicator& c) {
    Waiting waiting(c);
    if (c.rank() == 1) {
      while (!noticed) std::this_thread::sleep_for(1ms);
      return;
    }
    try {
      (*waiting).wait([] { return false; });
    } catch (...) {
      noticed = true;
      throw;
    }
  });
  EXPECT_THAT(errors[0], HasSubstr("no answer from worker 1"));
}

TEST(GrowingText, AllKnowWhenNobodyWaitsAnyMore) {
  const auto errors = run_workers({.count = 3}, [&](Communicator& c) {
    Waiting waiting(c, c.rank() != 2);  // the last one's caches were there from the start
    if (c.rank() != 2) waiting.build_to_the_end();
    (*waiting).wait_for_all();
    EXPECT_FALSE((*waiting).is_growing());
    EXPECT_EQ(waiting.known(), c.rank() != 2);
    (*waiting).wait([] { return false; });
  });
  EXPECT_EQ(errors, (std::vector<std::string>{"", "", ""}));
}

}  // namespace
}  // namespace bora::run
