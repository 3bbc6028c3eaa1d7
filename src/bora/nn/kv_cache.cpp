// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/kv_cache.h"

#include <algorithm>
#include <utility>

#include "bora/base/error.h"
#include "bora/core/mapping.h"
#include "bora/core/update.h"

namespace bora::nn {
namespace {

// A window moves back to the first place when this much more than it has come in.
std::int64_t room_for(std::int64_t window) { return window + window / 4 + 1; }

// Places [from, from + count) of x become its first ones; they may overlap.
void move_to_front(core::Array& x, int dim, std::int64_t from, std::int64_t count) {
  auto moved = core::widened_along(x, dim, count);
  core::write_slice(moved, dim, 0, core::read_slice(x, dim, from, count));
  core::write_slice(x, dim, 0, moved);
}

core::Array joined(const core::Array& before, std::int64_t from, std::int64_t count, const core::Array& more,
                   int dim) {
  if (count == 0) return more;
  auto out = core::widened_along(more, dim, count + more.size(dim));
  core::write_slice(out, dim, 0, core::read_slice(before, dim, from, count));
  core::write_slice(out, dim, count, more);
  return core::like(more, out);
}

}  // namespace

KvCache::KvCache(std::int64_t layers, std::vector<std::int64_t> capacities)
    : capacities_(std::move(capacities)),
      lengths_(capacities_.size()),
      held_(static_cast<std::size_t>(layers) * capacities_.size()) {}

void KvCache::truncate(std::int64_t row, std::int64_t length) {
  for (auto at = static_cast<std::size_t>(row); at < held_.size(); at += lengths_.size()) {
    auto& held = held_[at];
    if (length == 0) held.first = 0;
    const auto needed = held.window > 0 ? std::max<std::int64_t>(0, length - held.window + 1) : 0;
    if (length <= this->length(row) && held.first <= needed) continue;
    fail(ErrorKind::InvalidArgument,
         "cache: a row of {} positions cannot be cut to {}: a layer with a window of {} holds those from {} "
         "on\nhint: read the row again from its beginning",
         this->length(row), length, held.window, held.first);
  }
  lengths_.at(static_cast<std::size_t>(row)) = length;
}

KvCache KvCache::clone() const {
  KvCache out = *this;
  for (auto& held : out.held_) {
    if (held.keys.empty()) continue;
    held.keys = held.keys.clone();
    held.values = held.values.clone();
  }
  return out;
}

std::int64_t KvCache::bytes() const {
  std::int64_t n = 0;
  for (const auto& held : held_) {
    if (held.keys.empty()) continue;
    n +=
        (held.keys.numel() + held.values.numel()) * static_cast<std::int64_t>(core::bytes(held.keys.dtype()));
  }
  return n;
}

CachePass::CachePass(KvCache& cache, std::vector<std::int64_t> rows, std::int64_t last)
    : cache_(cache), rows_(std::move(rows)), last_(last) {
  for (const auto row : rows_) {
    if (row < 0 || row >= cache.rows() || std::count(rows_.begin(), rows_.end(), row) > 1)
      fail(ErrorKind::InvalidArgument, "cache: row {} is not there, or twice in the pass; the cache has {}",
           row, cache.rows());
  }
}

CachePass::Seen CachePass::append(std::int64_t layer, std::int64_t r, std::int64_t window,
                                  const core::Array& keys, const core::Array& values, int dim) {
  // A model may attend once more after its layers.
  const auto places = static_cast<std::size_t>((layer + 1) * cache_.rows());
  if (cache_.held_.size() < places) cache_.held_.resize(places);
  auto& held = cache_.held(layer, row(r));
  const auto length = first_position(r), n = keys.size(dim), capacity = cache_.capacity(row(r));
  if (length + n > capacity) {
    fail(ErrorKind::InvalidArgument,
         "attention: {} cached and {} new positions exceed the cache's {}\nhint: a shorter prompt, or fewer "
         "new tokens",
         length, n, capacity);
  }
  const auto room = window > 0 ? std::min(capacity, room_for(window)) : capacity;
  if (held.keys.empty()) {
    held = {core::widened_along(keys, dim, room), core::widened_along(values, dim, room), 0, window};
  }
  auto here = length - held.first;  // places taken
  if (here + n > room) {            // only with a window: what nobody sees any more goes
    const auto keep = std::min(here, window - 1);
    if (keep + n > room) {
      const auto all_keys = joined(held.keys, here - keep, keep, keys, dim);
      const auto all_values = joined(held.values, here - keep, keep, values, dim);
      const auto stay = window - 1, from = keep + n - stay;
      core::write_slice(held.keys, dim, 0, core::read_slice(all_keys, dim, from, stay));
      core::write_slice(held.values, dim, 0, core::read_slice(all_values, dim, from, stay));
      held.first = length + n - stay;
      return {all_keys, all_values, keep};
    }
    move_to_front(held.keys, dim, here - keep, keep);
    move_to_front(held.values, dim, here - keep, keep);
    held.first = length - keep;
    here = keep;
  }
  core::write_slice(held.keys, dim, here, keys);
  core::write_slice(held.values, dim, here, values);
  // Where workers share the heads, all positions are cut as the new ones are.
  return {core::like(keys, core::read_slice(held.keys, dim, 0, here + n)),
          core::like(values, core::read_slice(held.values, dim, 0, here + n)), here};
}

void CachePass::finish(std::int64_t positions) {
  for (const auto row : rows_) cache_.lengths_.at(static_cast<std::size_t>(row)) += positions;
}

core::Array CachePass::row_of(const core::Array& x, std::int64_t r) const {
  if (x.size(0) != rows() || core::whole_size(x, 0) != rows()) {
    fail(ErrorKind::InvalidArgument, "cache: a pass over {} rows meets a batch of {}, of which {} are here",
         rows(), core::whole_size(x, 0), x.size(0));
  }
  return rows() == 1 ? x : core::like(x, core::read_slice(x, 0, r, 1));
}

core::Array CachePass::by_row(const core::Array& x,
                              const std::function<core::Array(const core::Array&, std::int64_t)>& f) const {
  if (rows() == 1) return f(row_of(x, 0), 0);
  core::Array all, part;
  for (std::int64_t r = 0; r < rows(); ++r) {
    part = f(row_of(x, r), r);
    if (r == 0) all = core::widened_along(part, 0, rows());
    core::write_slice(all, 0, r, part);
  }
  return core::like(part, all);
}

}  // namespace bora::nn
