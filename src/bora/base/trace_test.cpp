// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "bora/base/json.h"

namespace bora::trace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Trace, RecordsNothingUnlessAsked) {
  EXPECT_FALSE(on());
  { const Span span("before"); }
  EXPECT_THAT(stop(), IsEmpty());
  start();
  EXPECT_TRUE(on());
  EXPECT_THAT(stop(), IsEmpty());
  EXPECT_FALSE(on());
  { const Span span("after"); }
  EXPECT_THAT(stop(), IsEmpty());
}

TEST(Trace, SpansNestAndCarryANumber) {
  start();
  {
    const Span outer("outer");
    { const Span inner("inner", "lane", 3); }
    Span early("early");
    early.end();
    early.end();
  }
  const auto threads = stop();
  ASSERT_EQ(threads.size(), 1U);
  EXPECT_EQ(threads[0].name, "thread");
  const auto& events = threads[0].events;
  ASSERT_EQ(events.size(), 3U);
  EXPECT_STREQ(events[0].name, "inner");
  EXPECT_STREQ(events[0].key, "lane");
  EXPECT_EQ(events[0].value, 3);
  EXPECT_STREQ(events[1].name, "early");
  EXPECT_EQ(events[1].key, nullptr);
  EXPECT_STREQ(events[2].name, "outer");
  EXPECT_GE(events[2].begin, 0);
  EXPECT_LE(events[2].begin, events[0].begin);
  EXPECT_LE(events[0].begin, events[0].end);
  EXPECT_LE(events[1].end, events[2].end);
}

// The rest of a span that began in an earlier recording belongs to none.
TEST(Trace, ARecordingHasItsOwnSpansAlone) {
  start();
  Span across("across");
  { const Span span("first"); }
  start();
  across.end();
  { const Span span("second"); }
  const auto threads = stop();
  ASSERT_EQ(threads.size(), 1U);
  ASSERT_EQ(threads[0].events.size(), 1U);
  EXPECT_STREQ(threads[0].events[0].name, "second");
}

TEST(Trace, ThreadsHaveNamesAndMayHaveEnded) {
  start();
  { const Span span("here"); }
  std::thread([] {
    name_thread("communication");
    const Span span("there");
  }).join();
  const auto threads = stop();
  ASSERT_EQ(threads.size(), 2U);
  EXPECT_EQ(threads[1].name, "communication");
  EXPECT_STREQ(threads[1].events.at(0).name, "there");
}

TEST(Trace, BecomesAFileOfChrome) {
  const std::vector<Thread> threads = {{"training", {{"step", "step", 7, 1500, 4001500}}, 0},
                                       {"data", {{"batch", nullptr, 0, 999, 1000}}, 2}};
  const std::vector<std::string> events = {to_chrome_events(threads, 0, "worker 0 (host a)"),
                                           to_chrome_events({}, 1, "worker 1")};
  const auto text = chrome_trace(events);
  const auto trace = Json::parse(text);
  EXPECT_EQ(trace.at("displayTimeUnit"), "ms");
  const auto& list = trace.at("traceEvents");
  ASSERT_EQ(list.size(), 8U);
  EXPECT_EQ(list[0].dump(), R"x({"ph":"M","pid":0,"tid":0,"name":"process_name",)x"
                            R"x("args":{"name":"worker 0 (host a)"}})x");
  EXPECT_EQ(list[1].dump(), R"x({"ph":"M","pid":0,"tid":0,"name":"process_sort_index",)x"
                            R"x("args":{"sort_index":0}})x");
  EXPECT_EQ(list[3].dump(), R"x({"ph":"X","pid":0,"tid":0,"ts":1.5,"dur":4000.0,"name":"step",)x"
                            R"x("args":{"step":7}})x");
  EXPECT_EQ(list[4].at("args").at("name"), "data (2 spans left out)");
  EXPECT_EQ(list[5].dump(), R"x({"ph":"X","pid":0,"tid":1,"ts":0.999,"dur":0.001,"name":"batch"})x");
  EXPECT_EQ(list[6].at("pid"), 1);
  EXPECT_THAT(text, HasSubstr("\"ts\":1.500,\"dur\":4000.000"));
}

}  // namespace
}  // namespace bora::trace
