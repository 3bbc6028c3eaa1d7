// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/kv_cache.h"

#include <algorithm>
#include <array>
#include <utility>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/index.h"
#include "bora/core/mapping.h"
#include "bora/core/update.h"

namespace bora::nn {

KvCache::KvCache(std::int64_t layers, const std::vector<std::int64_t>& capacities) : layers_(layers) {
  for (const auto capacity : capacities) add_row(capacity);
}

std::size_t KvCache::place_of(std::int64_t row) const {
  if (row < 0 || row >= rows() || rows_[static_cast<std::size_t>(row)].is_free)
    fail(ErrorKind::InvalidArgument, "cache: row {} is not there; the cache has {}", row, rows());
  return static_cast<std::size_t>(row);
}

std::int64_t KvCache::place(Row row) {
  const auto free = std::find_if(rows_.begin(), rows_.end(), [](const Row& r) { return r.is_free; });
  if (free != rows_.end()) {
    *free = std::move(row);
    return free - rows_.begin();
  }
  rows_.push_back(std::move(row));
  return rows() - 1;
}

std::int64_t KvCache::add_row(std::int64_t capacity) {
  Row row{.capacity = capacity};
  row.layers.assign(static_cast<std::size_t>(layers_), Layer{core::PageTable(pool_)});
  return place(std::move(row));
}

std::int64_t KvCache::fork(std::int64_t row, std::int64_t capacity) {
  Row copy = at(row);
  copy.capacity = capacity;
  return place(std::move(copy));
}

void KvCache::remove_row(std::int64_t row) { at(row) = Row{.is_free = true}; }

void KvCache::truncate(std::int64_t row, std::int64_t length) {
  auto& r = at(row);
  for (const auto& [table, window] : r.layers) {
    const auto needed = window > 0 ? std::max<std::int64_t>(0, length - window + 1) : 0;
    if (length == 0 || (length <= r.length && table.first() <= needed)) continue;
    fail(ErrorKind::InvalidArgument,
         "cache: a row of {} positions cannot be cut to {}: a layer with a window of {} holds those from {} "
         "on\nhint: read the row again from its beginning",
         r.length, length, window, table.first());
  }
  for (auto& layer : r.layers) layer.table.truncate(length);
  r.length = length;
  if (length == 0) r.read_for = 0;
}

CachePass::CachePass(KvCache& cache, std::vector<std::int64_t> rows, std::int64_t last, std::int64_t whole)
    : cache_(cache), rows_(std::move(rows)), last_(last), whole_(whole) {
  for (const auto row : rows_) {
    if (row < 0 || row >= cache.rows() || std::count(rows_.begin(), rows_.end(), row) > 1)
      fail(ErrorKind::InvalidArgument, "cache: row {} is not there, or twice in the pass; the cache has {}",
           row, cache.rows());
  }
}

CachePass::CachePass(KvCache& cache, std::vector<std::int64_t> rows, std::int64_t last,
                     std::vector<std::int64_t> own)
    : CachePass(cache, std::move(rows), last) {
  own_ = std::move(own);
  if (own_.size() != rows_.size())
    fail(ErrorKind::InvalidArgument,
         "cache: a pass over {} rows is given the own positions of {}\nhint: a number for each row",
         rows_.size(), own_.size());
}

std::int64_t CachePass::text_length(std::int64_t r, std::int64_t n) const {
  return std::max({whole_, first_position(r) + own(r, n), cached_text_length(r)});
}

std::vector<core::PageTable*> CachePass::tables(std::int64_t layer, std::int64_t window, std::int64_t n) {
  std::vector<core::PageTable*> out;
  for (const auto row : rows_) {
    auto& r = cache_.at(row);
    if (r.length + n > r.capacity) {
      fail(
          ErrorKind::InvalidArgument,
          "attention: {} cached and {} new positions exceed the cache's {}\nhint: a shorter prompt, or fewer "
          "new tokens",
          r.length, n, r.capacity);
    }
    // A model may attend once more after its layers.
    while (std::ssize(r.layers) <= layer) r.layers.push_back({core::PageTable(cache_.pool_)});
    auto& held = r.layers[static_cast<std::size_t>(layer)];
    held.window = window;
    out.push_back(&held.table);
  }
  return out;
}

void CachePass::finish(std::int64_t positions) {
  for (std::int64_t i = 0; i < rows(); ++i) {
    auto& r = cache_.at(row(i));
    r.read_for = text_length(i, positions);
    r.length += own(i, positions);
    for (auto& [table, window] : r.layers) {
      table.truncate(r.length);
      if (window > 0) table.forget_before(r.length - window + 1);
    }
  }
}

std::vector<std::string_view> CachePass::rows_as_positions(const core::Operand& x,
                                                           std::string_view position) const {
  const bool one_each = rows() > 1 && x.names.size() > 1 && x.names[1] == position &&
                        x.array.size(0) == rows() && core::whole_size(x.array, 1) == 1;
  if (!one_each) return {};
  std::vector<std::string_view> names(x.names.begin(), x.names.end());
  std::swap(names[0], names[1]);
  return names;
}

core::Array CachePass::at_first_positions(const core::Array& table) const {
  constexpr std::array<std::string_view, 1> kRow{"row"};
  constexpr std::array<std::string_view, 2> kTable{"position", "n"}, kOut{"row", "n"};
  std::vector<std::int32_t> first;
  for (std::int64_t r = 0; r < rows(); ++r) first.push_back(static_cast<std::int32_t>(first_position(r)));
  const std::array<std::int64_t, 1> sizes{rows()};
  const auto index = core::from_data({kRow, sizes}, std::span<const std::int32_t>(first));
  return core::take({table, kTable}, "position", {index, kRow}, kOut);
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
