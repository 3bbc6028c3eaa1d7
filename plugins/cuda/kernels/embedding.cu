// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Places are cut into chunks of 32. A block has one chunk, and some columns of it. A run of one id that lies
// within a chunk goes to the table at once. Of the others, which chunks have at most one of at each end, the
// sums go to `room` [chunk, 2, width], and another kernel adds those of a run.
#include "embedding.h"

namespace bora::cuda {
namespace {

constexpr std::int64_t kChunk = 32;
constexpr int kThreads = 128;

template <class T>
struct Base {
  static constexpr int threads = kThreads;
  EmbeddingBackward<T> a;
  std::int64_t strips;  // blocks of a chunk
  bool well;

  __device__ std::int64_t chunk() const { return block() / strips; }
  __device__ std::int64_t column() const { return (block() % strips * kThreads + thread()) * kPack; }
  __device__ std::int64_t end_of(std::int64_t c) const {
    return (c + 1) * kChunk < a.places ? (c + 1) * kChunk : a.places;
  }
  // Whether the run at one end of a chunk is also in the chunk beside it.
  __device__ bool goes_on(std::int64_t c) const {
    return end_of(c) < a.places && a.ids[end_of(c)] == a.ids[end_of(c) - 1];
  }
  __device__ bool came(std::int64_t c) const { return c > 0 && goes_on(c - 1); }
  // Of the run that comes from the chunk before, else of that which goes on.
  __device__ float* part(std::int64_t c, bool from_before) const {
    return a.room + (2 * c + (from_before ? 0 : 1)) * a.width;
  }
  __device__ void finish(std::int32_t id, const float (&sum)[kPack]) const {
    if (id >= 0 && id < a.vocab) store(sum, a.table + id * a.width, column(), a.width, well);
  }
};

template <class T>
struct Chunks : Base<T> {
  __device__ void operator()() const {
    const EmbeddingBackward<T>& in = this->a;
    const std::int64_t c = this->chunk(), i = this->column(), first = c * kChunk, end = this->end_of(c);
    if (i >= in.width) return;
    const bool came = this->came(c), goes_on = this->goes_on(c);
    float sum[kPack] = {};
    std::int64_t begin = first;  // of the run
    for (std::int64_t at = first; at < end; ++at) {
      float v[kPack];
      load(in.dy + in.order[at] * in.width, i, in.width, this->well, v);
      for (int j = 0; j < kPack; ++j) sum[j] += v[j];
      if (at + 1 < end && in.ids[at + 1] == in.ids[at]) continue;
      if (begin == first && came)
        store(sum, this->part(c, true), i, in.width, this->well);
      else if (at + 1 == end && goes_on)
        store(sum, this->part(c, false), i, in.width, this->well);
      else
        this->finish(in.ids[at], sum);
      begin = at + 1;
      for (float& x : sum) x = 0;
    }
  }
};

template <class T>
struct LongRuns : Base<T> {
  __device__ void operator()() const {
    const EmbeddingBackward<T>& in = this->a;
    const std::int64_t c = this->chunk(), i = this->column();
    if (i >= in.width || !this->goes_on(c)) return;
    const std::int32_t id = in.ids[this->end_of(c) - 1];
    if (this->came(c) && in.ids[c * kChunk] == id) return;  // it began before
    float sum[kPack];
    load(this->part(c, false), i, in.width, this->well, sum);
    for (std::int64_t next = c + 1;; ++next) {
      float v[kPack];
      load(this->part(next, true), i, in.width, this->well, v);
      for (int j = 0; j < kPack; ++j) sum[j] += v[j];
      if (!this->goes_on(next) || in.ids[this->end_of(next) - 1] != id) break;
    }
    this->finish(id, sum);
  }
};

}  // namespace

std::int64_t embedding_backward_room(std::int64_t places, std::int64_t width) {
  return 2 * blocks_for(places, kChunk) * width;
}

template <class T>
void embedding_backward(const EmbeddingBackward<T>& a, Stream stream) {
  const std::int64_t strips = blocks_for(a.width, kThreads * kPack),
                     blocks = blocks_for(a.places, kChunk) * strips;
  const bool well = packs_lie_well(a.width, a.dy, a.table, a.room);
  launch(Chunks<T>{{a, strips, well}}, blocks, 0, stream);
  launch(LongRuns<T>{{a, strips, well}}, blocks, 0, stream);
}

template void embedding_backward(const EmbeddingBackward<float>&, Stream);
template void embedding_backward(const EmbeddingBackward<Bf16>&, Stream);

}  // namespace bora::cuda
