// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The same function, unchanged, on other shapes. The compiler checks the axes of each result; the values are
// compared with one loop over batch, head, position and source.
#include "attention_function.h"
#include "bora/named/ops.h"
#include "check.h"

using namespace bora;

struct Batch : axis<"batch"> {};
struct Head : axis<"head"> {};
struct Pos : axis<"position"> {};
struct KeyPos : axis<"key_position"> {};
struct HeadDim : axis<"key"> {};
struct Height : axis<"height"> {};
struct Width : axis<"width"> {};

constexpr Dim<Batch> kBatch{2};
constexpr Dim<Head> kHead{3};
constexpr Dim<Pos> kPos{5};
constexpr Dim<KeyPos> kKeyPos{24};
constexpr Dim<HeadDim> kKey{8};
constexpr Dim<Height> kHeight{4};
constexpr Dim<Width> kWidth{6};

using Result = Named<Batch, Head, Pos, HeadDim>;

// Where the keys of (batch, head) begin in memory; each is [source, key] row-major.
using Place = std::size_t (*)(std::size_t batch, std::size_t head);

std::vector<float> by_index(const std::vector<float>& q, const std::vector<float>& k,
                            const std::vector<float>& v, std::size_t batches, Place place) {
  std::vector<float> out;
  constexpr std::size_t heads = 3, positions = 5, sources = 24, dim = 8;
  for (std::size_t row = 0; row < batches * heads * positions; ++row) {
    std::size_t first = place(row / positions / heads, row / positions % heads) * sources;
    std::vector<double> sum(dim);
    double total = 0;
    for (std::size_t s = first; s < first + sources; ++s) {
      double score = 0;
      for (std::size_t d = 0; d < dim; ++d) score += static_cast<double>(q[row * dim + d]) * k[s * dim + d];
      double weight = std::exp(score / std::sqrt(dim));
      total += weight;
      for (std::size_t d = 0; d < dim; ++d) sum[d] += weight * v[s * dim + d];
    }
    for (double x : sum) out.push_back(static_cast<float>(x / total));
  }
  return out;
}

int main() {
  auto [k1, k2, k3] = bora::Key::from_seed(0).split<3>();
  auto query = random_normal(k1, 0, 1, kBatch, kHead, kPos, kKey);
  auto see_all = ones();

  {  // multi-head
    auto key = random_normal(k2, 0, 1, kBatch, kHead, kKeyPos, kKey),
         value = random_normal(k3, 0, 1, kBatch, kHead, kKeyPos, kKey);
    Result found = attention<HeadDim, KeyPos>(query, key, value, see_all);
    expect_equal(found.to_vector(),
                 by_index(query.to_vector(), key.to_vector(), value.to_vector(), 2,
                          [](std::size_t b, std::size_t h) { return b * 3 + h; }),
                 "multi-head");
  }
  {  // multi-query: keys and values without heads
    auto key = random_normal(k2, 0, 1, kBatch, kKeyPos, kKey),
         value = random_normal(k3, 0, 1, kBatch, kKeyPos, kKey);
    Result found = attention<HeadDim, KeyPos>(query, key, value, see_all);
    expect_equal(found.to_vector(),
                 by_index(query.to_vector(), key.to_vector(), value.to_vector(), 2,
                          [](std::size_t b, std::size_t) { return b; }),
                 "multi-query");
  }
  {  // to an image: the attended axis is a pair
    auto key = random_normal(k2, 0, 1, kBatch, kHead, kHeight, kWidth, kKey);
    auto value = random_normal(k3, 0, 1, kBatch, kHead, kHeight, kWidth, kKey);
    Result found = attention<HeadDim, Height, Width>(query, key, value, see_all);
    expect_equal(found.to_vector(),
                 by_index(query.to_vector(), key.to_vector(), value.to_vector(), 2,
                          [](std::size_t b, std::size_t h) { return b * 3 + h; }),
                 "height x width");
  }
  {  // without batch
    auto one = take<Batch>(query, 0);
    auto key = random_normal(k2, 0, 1, kHead, kKeyPos, kKey),
         value = random_normal(k3, 0, 1, kHead, kKeyPos, kKey);
    Named<Head, Pos, HeadDim> found = attention<HeadDim, KeyPos>(one, key, value, see_all);
    expect_equal(found.to_vector(),
                 by_index(one.to_vector(), key.to_vector(), value.to_vector(), 1,
                          [](std::size_t, std::size_t h) { return h; }),
                 "without batch");
  }
}
