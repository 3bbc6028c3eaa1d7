// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Visits are cut into chunks, one for each block. The first kernel counts a chunk's visits of each expert, into `room` [chunk,
// expert]. The second makes of them how many are in the chunks before, and the rows of each expert. Of these every block of the
// third finds where experts begin, and places its visits: warp by warp, round by round, those of a round by their lanes.
#include "slots.h"

namespace bora::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp, kRounds = 4;
constexpr std::int64_t kChunk = kThreads * kRounds, kPack = 8;

template <class T>
struct Chosen {
  std::int64_t n;
  int experts;
  const T* choices;

  __device__ int of(std::int64_t i) const {
    const T e = choices[i];
    return e < 0 ? 0 : e < experts ? static_cast<int>(e) : experts - 1;
  }
};

template <class T>
struct CountVisits {
  static constexpr int threads = kThreads;
  Chosen<T> chosen;
  std::int32_t* room;

  __device__ void operator()() const {
    auto* counts = shared<unsigned>();
    for (int e = thread(); e < chosen.experts; e += threads) counts[e] = 0;
    sync();
    for (int r = 0; r < kRounds; ++r) {
      const std::int64_t i = block() * kChunk + r * threads + thread();
      if (i < chosen.n) add_to(counts + chosen.of(i), 1U);
    }
    sync();
    for (int e = thread(); e < chosen.experts; e += threads)
      room[block() * chosen.experts + e] = static_cast<std::int32_t>(counts[e]);
  }
};

// A block has 32 experts; each of its warps one segment of the chunks.
struct SumChunks {
  static constexpr int threads = 512, segments = threads / kWarp;
  std::int64_t chunks;
  int experts;
  std::int32_t *room, *rows;

  __device__ void operator()() const {
    auto* sums = shared<std::int32_t>();
    const int lane = thread() % kWarp, segment = thread() / kWarp;
    const std::int64_t e = block() * kWarp + lane, each = (chunks + segments - 1) / segments,
                       first = segment * each, end = first + each < chunks ? first + each : chunks;
    std::int32_t sum = 0;
    for (std::int64_t c = first; c < end && e < experts; ++c) sum += room[c * experts + e];
    sums[thread()] = sum;
    sync();
    if (e >= experts) return;
    std::int32_t before = 0;
    for (int s = 0; s < segment; ++s) before += sums[s * kWarp + lane];
    if (segment == segments - 1) rows[e] = before + sum;
    for (std::int64_t c = first; c < end; ++c) {
      const std::int32_t own = room[c * experts + e];
      room[c * experts + e] = before;
      before += own;
    }
  }
};

__device__ inline std::int32_t slots_for(std::int32_t rows) {
  return rows <= kPack
             ? static_cast<std::int32_t>(kPack)
             : (rows + static_cast<std::int32_t>(kPack) - 1) & ~static_cast<std::int32_t>(kPack - 1);
}

template <class T>
struct PlaceVisits {
  static constexpr int threads = kThreads;
  Chosen<T> chosen;
  const std::int32_t* room;
  kernels::SlotPlaces to;

  static std::int64_t shared_bytes(std::int64_t experts) {
    return threads * static_cast<std::int64_t>(sizeof(unsigned long long)) +
           (1 + kWarps) * experts * static_cast<std::int64_t>(sizeof(unsigned));
  }

  // Slots of all threads' experts before these, and visits (the lower half).
  __device__ unsigned long long before_mine(int first, int end) const {
    auto* sums = shared<unsigned long long>();
    unsigned long long own = 0;
    for (int e = first; e < end; ++e)
      own += static_cast<unsigned long long>(slots_for(to.rows[e])) << 32 | static_cast<unsigned>(to.rows[e]);
    sums[thread()] = own;
    sync();
    for (int d = 1; d < threads; d *= 2) {
      const unsigned long long more = thread() < d ? 0 : sums[thread() - d];
      sync();
      sums[thread()] += more;
      sync();
    }
    return sums[thread()] - own;
  }

  // Of one expert but the last.
  __device__ void write_pads(std::int64_t at, std::int32_t filled, std::int32_t end) const {
    for (std::int32_t slot = filled; slot < end; ++slot, ++at) {
      to.pads[at] = slot;
      to.visits[slot] = 0;
    }
  }

  // All threads: where experts begin. The first block writes their ends, and the slots that nobody visits.
  __device__ void find_experts(unsigned* from) const {
    const int each = (chosen.experts + threads - 1) / threads, first = thread() * each,
              end = first + each < chosen.experts ? first + each : chosen.experts;
    const unsigned long long before = before_mine(first, end);
    auto begin = static_cast<std::int32_t>(before >> 32), visits = static_cast<std::int32_t>(before);
    for (int e = first; e < end; ++e) {
      const std::int32_t rows = to.rows[e], next = begin + slots_for(rows);
      from[e] = static_cast<unsigned>(begin);
      if (block() == 0 && e + 1 < chosen.experts) {
        to.ends[e] = next;
        write_pads(begin - visits, begin + rows, next);
      }
      begin = next;
      visits += rows;
    }
    sync();
    if (block() != 0) return;
    const int last = chosen.experts - 1;
    const std::int64_t slots = chosen.n + kPack * chosen.experts,
                       filled = static_cast<std::int64_t>(from[last]) + to.rows[last],
                       to_pad = kPack * chosen.experts - slots;
    if (thread() == 0) to.ends[last] = static_cast<std::int32_t>(slots);
    for (std::int64_t slot = filled + thread(); slot < slots; slot += threads) {
      to.pads[to_pad + slot] = slot;
      to.visits[slot] = 0;
    }
  }

  __device__ void operator()() const {
    const int warp = thread() / kWarp, lane = thread() % kWarp, experts = chosen.experts;
    auto* from = reinterpret_cast<unsigned*>(shared<unsigned long long>() + threads);
    auto* next = from + experts;  // [warp, expert]: its next slot
    find_experts(from);
    for (int i = thread(); i < kWarps * experts; i += threads) next[i] = 0;
    sync();
    const std::int64_t mine = block() * kChunk + warp * kRounds * kWarp + lane;
    unsigned* own = next + warp * experts;
    for (int r = 0; r < kRounds; ++r) {
      const std::int64_t i = mine + r * kWarp;
      if (i < chosen.n) add_to(own + chosen.of(i), 1U);
    }
    sync();
    for (int e = thread(); e < experts; e += threads) {
      unsigned at = from[e] + static_cast<unsigned>(room[block() * experts + e]);
      for (int w = 0; w < kWarps; ++w) {
        const unsigned count = next[w * experts + e];
        next[w * experts + e] = at;
        at += count;
      }
    }
    sync();
    for (int r = 0; r < kRounds; ++r) {
      const std::int64_t i = mine + r * kWarp;
      const int e = i < chosen.n ? chosen.of(i) : -1;
      unsigned earlier = 0, later = 0;  // visits of the same expert in this round
      for (int d = 1; d < kWarp; ++d) {
        const bool same = shuffle_xor(e, d) == e;
        earlier += same && (lane ^ d) < lane ? 1 : 0;
        later += same && (lane ^ d) > lane ? 1 : 0;
      }
      if (e >= 0) {
        const unsigned slot = own[e] + earlier;
        to.place[i] = static_cast<std::int32_t>(slot);
        to.visits[slot] = static_cast<std::int32_t>(i);
      }
      sync();
      if (e >= 0 && later == 0) own[e] += earlier + 1;
      sync();
    }
  }
};

}  // namespace

std::int64_t slots_room(std::int64_t n, std::int64_t experts) { return blocks_for(n, kChunk) * experts; }

template <class T>
void plan_slots(std::int64_t n, std::int64_t experts, const T* choices, const kernels::SlotPlaces& to,
                std::int32_t* room, Stream stream) {
  const Chosen<T> chosen{n, static_cast<int>(experts), choices};
  const std::int64_t chunks = blocks_for(n, kChunk);
  launch(CountVisits<T>{chosen, room}, chunks, experts * static_cast<std::int64_t>(sizeof(unsigned)), stream);
  launch(SumChunks{chunks, chosen.experts, room, to.rows}, blocks_for(experts, kWarp),
         SumChunks::threads * static_cast<std::int64_t>(sizeof(std::int32_t)), stream);
  launch(PlaceVisits<T>{chosen, room, to}, chunks, PlaceVisits<T>::shared_bytes(experts), stream);
}

template void plan_slots(std::int64_t, std::int64_t, const std::int32_t*, const kernels::SlotPlaces&,
                         std::int32_t*, Stream);
template void plan_slots(std::int64_t, std::int64_t, const std::int64_t*, const kernels::SlotPlaces&,
                         std::int32_t*, Stream);

}  // namespace bora::cuda
