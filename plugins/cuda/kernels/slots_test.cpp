// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "slots.h"

#include <functional>

#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;

struct Plan {
  Plan(std::int64_t n, std::int64_t experts)
      : place(n), rows(experts), ends(experts), visits(n + 8 * experts), pads(8 * experts) {}
  List<std::int32_t> place, rows, ends, visits;
  List<std::int64_t> pads;
};

// In the order of the visits, one after the other.
Plan plan_of(const List<std::int32_t>& choices, std::int32_t experts) {
  Plan plan(std::ssize(choices), experts);
  std::int32_t slot = 0;
  std::size_t pad = 0;
  for (std::int32_t e = 0; e < experts; ++e) {
    const std::int32_t first = slot;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (choices[i] != e) continue;
      ++plan.rows[e];
      plan.visits[slot] = static_cast<std::int32_t>(i);
      plan.place[i] = slot++;
    }
    const bool last = e + 1 == experts;
    while (last ? slot < std::ssize(plan.visits) : slot % 8 != 0 || slot == first) plan.pads[pad++] = slot++;
    plan.ends[e] = slot;
  }
  return plan;
}

template <class T>
void expect_planned(const List<std::int32_t>& choices, std::int32_t experts) {
  SCOPED_TRACE(::testing::Message() << choices.size() << " choices of " << experts);
  const auto n = std::ssize(choices);
  const List<T> given(choices.begin(), choices.end());
  Plan got(n, experts);
  List<std::int32_t> room(slots_room(n, experts));
  in_all_orders(
      [&] {
        plan_slots(n, experts, given.data(),
                   {got.place.data(), got.rows.data(), got.ends.data(), got.visits.data(), got.pads.data()},
                   room.data(), nullptr);
      },
      got.place, got.rows, got.ends, got.visits, got.pads, room);
  const Plan want = plan_of(choices, experts);
  EXPECT_EQ(got.rows, want.rows);
  EXPECT_EQ(got.ends, want.ends);
  EXPECT_EQ(got.place, want.place);
  EXPECT_EQ(got.visits, want.visits);
  EXPECT_EQ(got.pads, want.pads);
}

List<std::int32_t> choices_of(std::int64_t n, const std::function<std::int64_t(std::int64_t)>& chosen) {
  List<std::int32_t> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(static_cast<std::int32_t>(chosen(i)));
  return out;
}

// One visit, parts of a round, a warp, a chunk, and several chunks; all kinds of rows.
TEST(CudaSlots, AreThoseInTheOrderOfVisits) {
  for (const std::int64_t n : {1, 33, 129, 1025}) {
    for (const std::int32_t experts : {1, 3, 8, 40}) {
      const auto one = [](std::int64_t which) { return [which](std::int64_t) { return which; }; };
      expect_planned<std::int64_t>(choices_of(n, [&](std::int64_t i) { return i % experts; }), experts);
      expect_planned<std::int32_t>(
          choices_of(n, [&](std::int64_t i) { return (i * 7919 + i / 3) % 1009 % experts; }), experts);
      for (const std::int32_t which : {0, experts / 2, experts - 1})
        expect_planned<std::int32_t>(choices_of(n, one(which)), experts);
    }
  }
}

// More experts than threads, than fit in a warp's part of a chunk, and the most there can be.
TEST(CudaSlots, OfManyExperts) {
  for (const std::int32_t experts : {255, 256, 257, 512, 1023}) {
    expect_planned<std::int64_t>(choices_of(1500, [&](std::int64_t i) { return i * i % 10007 % experts; }),
                                 experts);
    expect_planned<std::int32_t>(
        choices_of(700, [&](std::int64_t i) { return i % 2 == 0 ? experts - 1 : 3; }), experts);
  }
}

// Of so many chunks that a segment of the sums has several.
TEST(CudaSlots, OfManyChunks) {
  expect_planned<std::int32_t>(choices_of(40000, [](std::int64_t i) { return i * i / 7 % 5; }), 5);
}

TEST(CudaSlots, WhatIsNoExpertCountsAsTheNearest) {
  const List<std::int64_t> choices{0, -1, 2, 3, 1LL << 40, -(1LL << 40), 1};
  Plan got(7, 3), want = plan_of({0, 0, 2, 2, 2, 0, 1}, 3);
  List<std::int32_t> room(slots_room(7, 3));
  plan_slots(7, 3, choices.data(),
             {got.place.data(), got.rows.data(), got.ends.data(), got.visits.data(), got.pads.data()},
             room.data(), nullptr);
  EXPECT_EQ(got.place, want.place);
  EXPECT_EQ(got.rows, want.rows);
}

TEST(CudaSlots, TakeThreeLaunches) {
  const auto before = host::launches();
  expect_planned<std::int32_t>(choices_of(5000, [](std::int64_t i) { return i % 7; }), 7);
  EXPECT_EQ(host::launches() - before, 3 * 4) << "in four orders";
}

}  // namespace
}  // namespace bora::cuda
