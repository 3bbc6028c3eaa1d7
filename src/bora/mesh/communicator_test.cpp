// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "bora/base/error.h"
#include "bora/mesh/test_communicator.h"

namespace bora::mesh {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Eq;
using ::testing::HasSubstr;
using testing::run_workers;
using ::testing::StartsWith;

template <class T>
std::span<const std::byte> bytes_of(const T& values) {
  return std::as_bytes(std::span(values));
}
template <class T>
std::span<std::byte> room_in(T& values) {
  return std::as_writable_bytes(std::span(values));
}
std::size_t at(int i) { return static_cast<std::size_t>(i); }

constexpr int kCounts[] = {1, 2, 3, 4, 5, 8};

TEST(Communicator, BroadcastFromEveryWorker) {
  for (const int n : kCounts) {
    const auto errors = run_workers({.count = n}, [n](Communicator& c) {
      for (int from = 0; from < n; ++from) {
        std::vector<int> values(1000, c.rank());
        c.broadcast(from, room_in(values));
        EXPECT_THAT(values, Each(Eq(from)));
      }
    });
    EXPECT_THAT(errors, Each(Eq("")));
  }
}

TEST(Communicator, BitsOfAllAreThoseOfAny) {
  for (const int n : kCounts) {
    const auto errors = run_workers({.count = n}, [n](Communicator& c) {
      const auto mine = std::byte{static_cast<std::uint8_t>(1 << c.rank())};
      EXPECT_EQ(bits_of_all(c, mine), std::byte{static_cast<std::uint8_t>((1 << n) - 1)});
      EXPECT_TRUE(any_of_all(c, c.rank() == n - 1));
      EXPECT_FALSE(any_of_all(c, false));
    });
    EXPECT_THAT(errors, Each(Eq("")));
  }
}

TEST(Communicator, AllGatherInRankOrder) {
  for (const int n : kCounts) {
    const auto errors = run_workers({.count = n}, [n](Communicator& c) {
      const std::vector<int> mine = {c.rank(), 10 * c.rank()};
      std::vector<int> all(2 * at(n));
      c.all_gather(bytes_of(mine), room_in(all));
      for (int w = 0; w < n; ++w) {
        EXPECT_EQ(all[2 * at(w)], w);
        EXPECT_EQ(all[2 * at(w) + 1], 10 * w);
      }
    });
    EXPECT_THAT(errors, Each(Eq("")));
  }
}

TEST(Communicator, AllGatherOfUnequalBlocks) {
  for (const int n : kCounts) {
    const auto errors = run_workers({.count = n}, [n](Communicator& c) {
      const std::string mine(at(3 * (c.rank() % 3)), static_cast<char>('a' + c.rank()));
      std::string together, want;
      for (const auto& b : c.all_gather_unequal(bytes_of(mine)))
        together.append(reinterpret_cast<const char*>(b.data()), b.size());
      std::vector<std::size_t> bounds = {0};
      for (int w = 0; w < n; ++w) {
        want.append(at(3 * (w % 3)), static_cast<char>('a' + w));
        bounds.push_back(want.size());
      }
      EXPECT_EQ(together, want);
      std::string in_place(want.size(), '-');
      in_place.replace(bounds[at(c.rank())], mine.size(), mine);
      c.all_gather(room_in(in_place), bounds);
      EXPECT_EQ(in_place, want);
    });
    EXPECT_THAT(errors, Each(Eq("")));
  }
}

TEST(Communicator, ManyMessagesComeInOrder) {
  const auto errors = run_workers({.count = 4}, [](Communicator& c) {
    std::vector<int> mine = {c.rank()}, theirs = {-1};
    c.exchange(c.rank() ^ 1, bytes_of(mine), room_in(theirs));
    EXPECT_EQ(theirs[0], c.rank() ^ 1);
    std::vector<int> in(8), out(8);
    std::iota(out.begin(), out.end(), 100 * c.rank());
    std::vector<Message> messages;
    for (std::size_t i = 0; i < 8; ++i) {
      messages.push_back({(c.rank() + 1) % 4, bytes_of(out).subspan(4 * i, 4), {}});
      messages.push_back({(c.rank() + 3) % 4, {}, room_in(in).subspan(4 * i, 4)});
    }
    c.exchange_all(messages);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(in[at(i)], 100 * ((c.rank() + 3) % 4) + i);
  });
  EXPECT_THAT(errors, Each(Eq("")));
}

TEST(Communicator, MessagesTravelBesideOtherCalls) {
  const auto errors = run_workers({.count = 3}, [](Communicator& c) {
    const auto beside = c.split(0, c.rank());
    const std::vector<int> out(1000, c.rank());
    std::vector<int> in(1000, -1);
    const Message messages[] = {{(c.rank() + 1) % 3, bytes_of(out), {}},
                                {(c.rank() + 2) % 3, {}, room_in(in)}};
    beside->start_exchange(messages, "values");
    c.barrier();
    beside->progress();
    std::vector<int> ranks(3);
    const int mine = c.rank();
    c.all_gather(std::as_bytes(std::span(&mine, 1)), room_in(ranks));
    EXPECT_THAT(ranks, ::testing::ElementsAre(0, 1, 2));
    beside->finish_exchange();
    beside->finish_exchange();  // nothing travels
    EXPECT_THAT(in, Each(Eq((c.rank() + 2) % 3)));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Communicator, WhatTravelsFailsWithItsSender) {
  const auto errors = run_workers({.count = 2, .deadline = 0.05}, [](Communicator& c) {
    const auto beside = c.split(0, c.rank());
    if (c.rank() == 1) fail(ErrorKind::Io, "the disk is full");
    std::vector<int> in(10);
    const Message message{1, {}, room_in(in)};
    beside->start_exchange({&message, 1}, "values");
    for (int i = 0; i < 10; ++i) beside->progress();
    beside->finish_exchange();
  });
  EXPECT_THAT(errors[0], StartsWith("values: worker 0 "));
}

TEST(Communicator, SplitMakesTheAxesOfAMesh) {
  const auto errors = run_workers({.count = 6}, [](Communicator& c) {
    const auto row = c.split(c.rank() / 3, -c.rank());  // of three, in reverse order
    ASSERT_EQ(row->size(), 3);
    EXPECT_EQ(row->rank(), 2 - c.rank() % 3);
    const auto column = c.split(c.rank() % 3, 0);
    ASSERT_EQ(column->size(), 2);
    std::vector<int> mine = {c.rank()}, all(3), pair(2);
    row->all_gather(bytes_of(mine), room_in(all));
    const int base = c.rank() / 3 * 3;
    EXPECT_EQ(all, (std::vector<int>{base + 2, base + 1, base}));
    column->all_gather(bytes_of(mine), room_in(pair));
    EXPECT_EQ(pair, (std::vector<int>{c.rank() % 3, c.rank() % 3 + 3}));
  });
  EXPECT_THAT(errors, Each(Eq("")));
}

TEST(Communicator, SharedMemoryIsSeenByAllOnAHost) {
  const auto errors = run_workers({.count = 4, .hosts = {"a", "a", "b", "b"}}, [](Communicator& c) {
    EXPECT_FALSE(c.one_host());
    const auto host = c.split(c.rank() / 2, c.rank());
    EXPECT_TRUE(host->one_host());
    const auto memory = host->share(at(8 * (host->rank() + 1)));
    memory->of(host->rank())[0] = static_cast<std::byte>(c.rank() + 1);
    host->barrier();
    for (int w = 0; w < 2; ++w) {
      EXPECT_EQ(memory->of(w).size(), at(8 * (w + 1)));
      EXPECT_EQ(static_cast<int>(memory->of(w)[0]), c.rank() / 2 * 2 + w + 1);
    }
    std::string said;
    try {
      c.share(1);
    } catch (const Error& e) {
      said = e.what();
    }
    c.barrier();  // who leaves with an error ends the others' waiting
    EXPECT_EQ(said, "share: the 4 workers are on several hosts\nhint: split by host first");
  });
  EXPECT_THAT(errors, Each(Eq("")));
}

TEST(Communicator, TheSurvivorsNameWhoDoesNotAnswer) {
  std::atomic<int> survivors = 0;
  const auto errors =
      run_workers({.count = 4, .deadline = 0.2, .hosts = {"a", "a", "b", "b"}}, [&](Communicator& c) {
        c.activity("step 12: gradients");
        if (c.rank() == 2) {
          while (survivors < 3) std::this_thread::yield();
          c.abandon("the test is over");
          return;
        }
        try {
          if (c.rank() == 3) c.activity("step 12: batch");
          c.barrier();
        } catch (...) {
          ++survivors;
          throw;
        }
      });
  for (const int r : {0, 1, 3}) {
    const auto& text = errors[at(r)];
    const auto* doing = r == 3 ? "batch" : "gradients";
    EXPECT_THAT(text,
                StartsWith(fmt::format("barrier: worker {} (host {}) in step 12: {}: no answer from worker 2 "
                                       "(host b) (deadline 0.2 s)\n",
                                       r, r == 3 ? "b" : "a", doing)));
    EXPECT_THAT(text, HasSubstr(r == 0 ? "\nworker 3 (host b) waits too: barrier, in step 12: batch\n"
                                       : "\nworker 0 (host a) waits too: barrier, in step 12: gradients\n"));
    EXPECT_THAT(text,
                HasSubstr("hint: look at that worker's log and machine; started again, the run goes on from "
                          "its newest checkpoint"));
  }
  EXPECT_EQ(errors[2], "");
}

TEST(Communicator, AllCallsFailAfterAFailureAndItsKindIsStopped) {
  run_workers({.count = 2, .deadline = 0.05}, [](Communicator& c) {
    std::string first;
    for (int i = 0; i < 2; ++i) {
      try {
        std::byte b{};
        c.exchange(1 - c.rank(), {}, {&b, 1});  // both wait, nobody sends
        FAIL() << "no error";
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), ErrorKind::Stopped);
        if (i == 0) first = e.what();
        EXPECT_EQ(first, e.what());
      }
    }
  });
}

TEST(Communicator, WorkersInDifferentCallsAreToldSo) {
  const auto errors = run_workers({.count = 2, .deadline = 0.05}, [](Communicator& c) {
    std::vector<std::byte> bytes(1);
    c.activity("test");
    if (c.rank() == 0) c.exchange(1, {}, bytes);
    if (c.rank() == 1) c.broadcast(0, bytes);
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("waits too: "), HasSubstr(" in test"))));
  const bool said = errors[0].find("different things") != std::string::npos ||
                    errors[1].find("different things") != std::string::npos;
  EXPECT_TRUE(said) << errors[0] << errors[1];
}

TEST(Communicator, AFailureOfOneStopsAllAtOnce) {
  const auto errors = run_workers({.count = 3, .deadline = 60}, [](Communicator& c) {
    c.activity("step 3");
    if (c.rank() == 1) fail(ErrorKind::Corruption, "shard 7 is damaged");
    if (c.rank() == 2) {
      try {
        c.barrier();
      } catch (const Error&) {
        c.abandon("told already");
        throw;
      }
    }
    c.barrier();
  });
  EXPECT_EQ(errors[1], "shard 7 is damaged");
  EXPECT_EQ(
      errors[0],
      "barrier: worker 0 (host here) in step 3: worker 1 (host here) has failed: it ended with an error");
  EXPECT_EQ(
      errors[2],
      "barrier: worker 2 (host here) in step 3: worker 1 (host here) has failed: it ended with an error");
}

TEST(Communicator, AReasonCanBeGiven) {
  const auto errors = run_workers({.count = 2, .deadline = 60}, [](Communicator& c) {
    if (c.rank() == 1) return c.abandon("the disk is full");
    c.barrier();
  });
  EXPECT_EQ(errors[0],
            "barrier: worker 0 (host here) in start: worker 1 (host here) has failed: the disk is full");
}

TEST(Communicator, SizesThatDoNotAgreeAreAnError) {
  const auto errors = run_workers({.count = 2, .deadline = 60}, [](Communicator& c) {
    std::vector<std::byte> bytes(c.rank() == 0 ? 4 : 6);
    c.broadcast(0, bytes);
    c.barrier();
  });
  EXPECT_EQ(errors[1], "worker 1 (host here) in start: broadcast: a message of 4 bytes instead of 6");
  EXPECT_EQ(errors[0],
            "barrier: worker 0 (host here) in start: worker 1 (host here) has failed: broadcast: a "
            "message of 4 bytes instead of 6");
}

TEST(Communicator, WrongArguments) {
  const auto errors = run_workers({.count = 2}, [](Communicator& c) {
    const auto error_of = [](auto&& f) -> std::string {
      try {
        f();
      } catch (const Error& e) {
        return e.what();
      }
      return "no error";
    };
    std::vector<std::byte> b(3);
    const std::size_t bounds[] = {0, 2, 4};
    EXPECT_EQ(error_of([&] { c.exchange(2, b, b); }), "exchange: there is no worker 2 among 2");
    EXPECT_EQ(error_of([&] { c.exchange(c.rank(), b, b); }),
              fmt::format("exchange: worker {} is this one itself", c.rank()));
    EXPECT_EQ(error_of([&] { c.broadcast(-1, b); }), "broadcast: there is no worker -1 among 2");
    EXPECT_EQ(error_of([&] { c.all_gather(b, b); }), "all_gather: 2 chunks of 3 bytes do not fill 3 bytes");
    EXPECT_EQ(error_of([&] { c.all_gather(b, bounds); }),
              "all_gather: 3 bounds up to 4 do not cut 3 bytes for 2 workers");
    EXPECT_EQ(error_of([&] { c.split(-1, 0); }), "split: the color must be at least 0, not -1");
  });
  EXPECT_THAT(errors, Each(Eq("")));
}

// One is stopped between the barrier of a split and its end: no patience for long work lets the others wait.
TEST(CommunicatorDeathTest, ASplitThatIsNeverOverEndsTheProcessWhateverThePatience) {
  class Stuck : public testing::ThreadTransport {
   public:
    using ThreadTransport::ThreadTransport;
    std::unique_ptr<Transport> split(int, int) override {
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  };
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        auto hub = std::make_shared<testing::Hub>();
        hub->hosts = {"b"};
        const auto workers =
            make_communicator(std::make_unique<Stuck>(std::move(hub), 0, std::vector<int>{0}, 0), 0.05);
        workers->deadline(24 * 3600.0);
        workers->split(0, 0);
      },
      ::testing::ExitedWithCode(75), "split: worker 0 \\(host b\\) in start: not over after 0.05 s");
}

}  // namespace
}  // namespace bora::mesh
