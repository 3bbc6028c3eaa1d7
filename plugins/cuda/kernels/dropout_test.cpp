// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "dropout.h"

#include "bora/base/key.h"
#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;

TEST(CudaDropout, KeepsWhatTheKeySays) {
  const Key key = Key::from_seed(11).fold(1);
  for_both_types([&](auto t) {
    using T = decltype(t);
    for (const float p : {0.0F, 0.3F, 1.0F}) {
      for (const std::int64_t first : {std::int64_t{0}, std::int64_t{5}, std::int64_t{1} << 35}) {
        for (const std::int64_t n : {1, 3, 8, 2049}) {
          SCOPED_TRACE(::testing::Message() << n << " elements from " << first << " on, p " << p);
          const auto x = random<T>(n, 1);
          List<T> y(n);
          const KeyWords by_value{key.key, key.stream};
          in_all_orders([&] { dropout(by_value, first, n, p, x.data(), y.data(), nullptr); }, y);
          List<T> again(n);  // the key is read when the kernel runs
          std::uint64_t there[2] = {1, 2};
          const KeyWords by_place{0, 0, there};
          there[0] = key.key;
          there[1] = key.stream;
          in_all_orders([&] { dropout(by_place, first, n, p, x.data(), again.data(), nullptr); }, again);
          for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(to_float(again[i]), to_float(y[i])) << i;
          for (std::int64_t i = 0; i < n; ++i) {
            const auto place = static_cast<std::uint64_t>(first + i);
            const bool kept = double(key.words(place / 4)[place % 4]) >= double(p) * 0x1p32;
            const float want = kept ? to_float(from_float<T>(to_float(x[i]) * (1 / (1 - p)))) : 0;
            ASSERT_EQ(to_float(y[i]), want) << i;
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace bora::cuda
