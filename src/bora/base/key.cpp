// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/key.h"

#include <algorithm>

#include "bora/base/hash.h"
#include "bora/base/key_trail.h"

namespace bora {
namespace {

// Fractional digits of pi and e: what separates folding by number, folding by name, and drawing.
constexpr std::uint64_t kNumberDomain = 0x243F6A8885A308D3;
constexpr std::uint64_t kNameDomain = 0xB7E151628AED2A6A;

std::uint32_t low_half(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high_half(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }
std::uint64_t whole(std::uint32_t low, std::uint32_t high) { return std::uint64_t{high} << 32 | low; }

std::array<std::uint32_t, 4> random_block(std::uint64_t low, std::uint64_t high, std::uint64_t key) {
  return philox4x32({low_half(low), high_half(low), low_half(high), high_half(high)},
                    {low_half(key), high_half(key)});
}

thread_local KeyTrail* key_trail = nullptr;

Key derive(const Key& from, std::uint64_t domain, std::uint64_t data) {
  const auto words = random_block(data, from.stream, from.key ^ domain);
  return {whole(words[0], words[1]), whole(words[2], words[3])};
}

Key derive_and_note(const Key& from, std::uint64_t domain, std::uint64_t data) {
  const Key to = derive(from, domain, data);
  if (key_trail != nullptr) key_trail->note(from, to, {domain, data});
  return to;
}

std::uint64_t draw64(const Key& key, std::uint64_t index) {
  const auto words = key.words(index);
  return whole(words[0], words[1]);
}

std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b >> 64);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t odd = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high_half(odd) ^ counter[1] ^ key[0], low_half(odd), high_half(even) ^ counter[3] ^ key[1],
               low_half(even)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

Key Key::from_seed(std::uint64_t seed) { return Key{}.fold(seed); }
Key Key::fold(std::uint64_t data) const { return derive_and_note(*this, kNumberDomain, data); }
Key Key::fold(std::string_view name) const { return derive_and_note(*this, kNameDomain, hash128(name).low); }

KeyTrail::KeyTrail() : before_(std::exchange(key_trail, this)) {}
KeyTrail::~KeyTrail() { key_trail = before_; }

void KeyTrail::note(const Key& from, const Key& to, Way::Fold fold) {
  steps_.insert_or_assign({to.key, to.stream}, Step{from, fold});
}

KeyTrail::Way KeyTrail::way(const Key& root, const Key& key) const {
  Way way{.from_root = true};
  for (Key at = key; !(at == root);) {
    const auto step = steps_.find({at.key, at.stream});
    if (step == steps_.end()) return {.from_root = false, .fixed = key};
    way.folds.push_back(step->second.fold);
    at = step->second.from;
  }
  std::reverse(way.folds.begin(), way.folds.end());
  return way;
}

Key KeyTrail::Way::from(Key root) const {
  if (!from_root) return fixed;
  for (const auto& fold : folds) root = derive(root, fold.domain, fold.data);
  return root;
}

std::array<std::uint32_t, 4> Key::words(std::uint64_t block) const {
  return random_block(block, stream, key);
}

std::uint64_t Key::below(std::uint64_t n, std::uint64_t index) const {
  return multiply_high(draw64(*this, index), n);
}

double Key::uniform(std::uint64_t index) const {
  // 52 bits and a half: with 53 the largest draw would round to 1
  return (static_cast<double>(draw64(*this, index) >> 12) + 0.5) * 0x1p-52;
}

}  // namespace bora
