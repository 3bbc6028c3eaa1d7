// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "embedding.h"

#include <algorithm>
#include <numeric>

#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;

template <class T>
void check(const List<std::int32_t>& chosen, std::int64_t width, std::int64_t vocab) {
  const auto places = static_cast<std::int64_t>(chosen.size());
  const auto dy = random<T>(places * width, 1);
  List<std::int32_t> order(chosen.size()), ids;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return chosen[a] < chosen[b]; });
  for (const auto place : order) ids.push_back(chosen[place]);
  List<float> table, room(embedding_backward_room(places, width));
  in_all_orders(
      [&] {
        table.assign(vocab * width, 0);
        std::fill(room.begin(), room.end(), NAN);
        embedding_backward<T>(
            {places, width, vocab, ids.data(), order.data(), dy.data(), table.data(), room.data()}, nullptr);
      },
      table);
  List<double> want(table.size());
  for (std::int64_t p = 0; p < places; ++p) {
    for (std::int64_t i = 0; chosen[p] >= 0 && chosen[p] < vocab && i < width; ++i)
      want[chosen[p] * width + i] += to_float(dy[p * width + i]);
  }
  expect_close("table", table, want, {1e-5, 1e-5});
}

TEST(CudaEmbedding, AgreesWithThePlainFormula) {
  for_both_types([](auto t) {
    using T = decltype(t);
    std::mt19937 chance(7);
    for (const std::int64_t places : {1, 31, 32, 33, 500}) {
      for (const std::int64_t vocab : {1, 3, 40}) {
        List<std::int32_t> chosen;
        for (std::int64_t i = 0; i < places; ++i)  // half of them the same
          chosen.push_back(static_cast<std::int32_t>(chance() % 2 == 0 ? vocab / 2 : chance() % vocab));
        for (const std::int64_t width : {1, 13, 24}) {
          SCOPED_TRACE(::testing::Message() << places << " places, " << vocab << " x " << width);
          check<T>(chosen, width, vocab);
        }
      }
    }
  });
}

// Runs that end where a chunk does, that fill one, that go through several.
TEST(CudaEmbedding, RunsOfEveryKind) {
  List<std::int32_t> chosen;
  for (const auto& [id, times] :
       {std::pair(0, 32), {1, 31}, {2, 1}, {3, 1}, {4, 64}, {5, 31}, {6, 40}, {7, 24}, {8, 100}})
    chosen.insert(chosen.end(), static_cast<std::size_t>(times), id);
  check<float>(chosen, 8, 9);
  check<Bf16>(chosen, 1032, 9);  // more columns than a block has
}

TEST(CudaEmbedding, IdsOutsideOfTheTableAreLeftOut) {
  List<std::int32_t> chosen(70, 5);
  chosen[3] = -1;
  chosen[4] = 2;
  check<float>(chosen, 8, 5);
}

}  // namespace
}  // namespace bora::cuda
