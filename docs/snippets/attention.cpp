// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Attention that reads like its definition, against loops over indices.
#include "attention_function.h"
#include "bora/named/ops.h"
#include "check.h"

using namespace bora;

// [program]
struct Pos : axis<"position"> {};
struct KeyPos : axis<"key_position"> {};
struct Head : axis<"head"> {};
struct HeadDim : axis<"key"> {};
struct Embed : axis<"embed"> {};

struct SelfAttention {
  Named<Embed, Head, HeadDim> query, key, value;

  Named<Pos, Head, HeadDim> operator()(const Named<Pos, Embed>& x, const Named<Pos, KeyPos>& mask) const {
    auto source = rename<Pos, KeyPos>(x);
    return attention<HeadDim, KeyPos>(dot<Embed>(x, query), dot<Embed>(source, key),
                                      dot<Embed>(source, value), mask);
  }
};
// [program]

constexpr std::size_t kPos = 32, kHead = 4, kKey = 16, kEmbed = 64;

// [position, head, key] = Σ_embed x · w
std::vector<double> project(const std::vector<float>& x, const std::vector<float>& w) {
  std::vector<double> out(kPos * kHead * kKey);
  for (std::size_t p = 0; p < kPos; ++p)
    for (std::size_t o = 0; o < kHead * kKey; ++o)
      for (std::size_t e = 0; e < kEmbed; ++e)
        out[p * kHead * kKey + o] += static_cast<double>(x[p * kEmbed + e]) * w[e * kHead * kKey + o];
  return out;
}

int main() {
  auto [kx, kq, kk, kv] = Key::from_seed(0).split<4>();
  Dim<Head> heads{kHead};
  Dim<HeadDim> key{kKey};
  Dim<Embed> embed{kEmbed};
  auto x = random_normal(kx, 0, 1, Dim<Pos>{kPos}, embed);
  SelfAttention layer{random_normal(kq, 0, 0.1, embed, heads, key),
                      random_normal(kk, 0, 0.1, embed, heads, key),
                      random_normal(kv, 0, 0.1, embed, heads, key)};
  auto place = arange(Dim<Pos>{kPos});
  auto later = broadcast(place, Dim<KeyPos>{kPos}) >= rename<Pos, KeyPos>(place);
  auto causal = cast(Named<Pos, KeyPos>(later), core::DType::f32);
  auto found = layer(x, causal).to_vector();

  auto xs = x.to_vector();
  auto q = project(xs, layer.query.to_vector()), k = project(xs, layer.key.to_vector());
  auto v = project(xs, layer.value.to_vector());
  std::vector<float> expected;
  for (std::size_t p = 0; p < kPos; ++p) {
    for (std::size_t h = 0; h < kHead; ++h) {
      std::vector<double> sum(kKey);
      double total = 0;
      for (std::size_t s = 0; s <= p; ++s) {
        double score = 0;
        for (std::size_t d = 0; d < kKey; ++d)
          score += q[(p * kHead + h) * kKey + d] * k[(s * kHead + h) * kKey + d];
        double weight = std::exp(score / std::sqrt(kKey));
        total += weight;
        for (std::size_t d = 0; d < kKey; ++d) sum[d] += weight * v[(s * kHead + h) * kKey + d];
      }
      for (double s : sum) expected.push_back(static_cast<float>(s / total));
    }
  }
  expect_equal(found, expected, "attention");
}
