// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Graphs of the device: every operation between begin and end is noted with the addresses of its operands, and a launch
// does them all again. As on a GPU nothing that was noted has been done before the first launch: what the operations
// have written meanwhile is taken back.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "bora/core/device_kernels.h"

namespace bora::fake_device {

/// Whether this thread's work is being noted, on which stream; and whether a graph is being launched.
bool noting();
bool noting_on(std::int64_t stream);
bool launching();
/// One more operation of the graph.
void note(std::function<void()> again);
/// What a GPU does not take while it notes: an error then, and there will be no graph.
void refuse_while_noting(const std::string& what);

core::DeviceKernels::Graph graph_entries();

/// Memory as it is now: the function puts it back, and what has come since is NaN.
std::function<void()> memory_now();

/// An entry of the table that notes itself.
template <auto F>
struct Noted;
template <class... A, void (*F)(A...)>
struct Noted<F> {
  static void call(A... a) {
    F(a...);
    if (noting()) note([kept = std::tuple<std::decay_t<A>...>(a...)] { std::apply(F, kept); });
  }
};
/// The same of one that says whether it has done anything.
template <class... A, bool (*F)(A...)>
struct Noted<F> {
  static bool call(A... a) {
    const bool done = F(a...);
    if (done && noting()) note([kept = std::tuple<std::decay_t<A>...>(a...)] { std::apply(F, kept); });
    return done;
  }
};
/// The same of one that takes many arrays. Their list goes when the entry has returned, and is kept.
template <auto F>
struct NotedList;
template <class T, class... A, void (*F)(std::int64_t, const T*, A...)>
struct NotedList<F> {
  static void call(std::int64_t count, const T* list, A... a) {
    F(count, list, a...);
    if (!noting()) return;
    note([own = std::vector<T>(list, list + count), kept = std::tuple<std::decay_t<A>...>(a...)] {
      std::apply([&](const auto&... rest) { F(static_cast<std::int64_t>(own.size()), own.data(), rest...); },
                 kept);
    });
  }
};

}  // namespace bora::fake_device
