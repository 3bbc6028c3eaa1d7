// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/paged_attention.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/new_empty_ops.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bora/base/error.h"
#include "bora/core/autograd/attention_refs.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/kernels/cpu/paged_attention.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/attention_axes.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/plain/attention.h"

namespace bora::core {

// As kernels/cpu/paged_attention.h has it, whatever computes with it: [kv head, floats of a head].
struct PageTable::Page {
  at::Tensor floats;
};

// Pages of one shape, type and device wait together: a cache has no others.
struct PagePool::State {
  std::vector<at::Tensor> spare;
  std::int64_t held = 0, bytes = 0;
};

struct PageTable::Access {
  static std::shared_ptr<Page> new_page(const PageTable& table, const at::Tensor& like, std::int64_t heads,
                                        std::int64_t floats) {
    const auto state = table.pool_.state_;
    at::Tensor memory;
    const auto fits = [&](const at::Tensor& t) {
      return t.size(0) == heads && t.size(1) == floats && t.scalar_type() == like.scalar_type() &&
             t.device() == like.device();
    };
    if (const auto found = std::find_if(state->spare.rbegin(), state->spare.rend(), fits);
        found != state->spare.rend()) {
      memory = std::move(*found);
      state->spare.erase(std::next(found).base());
    } else {
      memory = like.new_empty({heads, floats});
      state->bytes += static_cast<std::int64_t>(memory.nbytes());
    }
    ++state->held;
    return {new Page{std::move(memory)}, [state](Page* page) {
              --state->held;
              state->spare.push_back(std::move(page->floats));
              delete page;
            }};
  }

  // Room for n more positions, on pages that no other table has.
  static void grow(PageTable& table, std::int64_t n, const at::Tensor& like, std::int64_t heads,
                   std::int64_t floats) {
    const auto end = table.length_ + n;
    for (auto i = table.length_ / kPositions; i * kPositions < end; ++i) {
      if (i == std::ssize(table.pages_)) table.pages_.push_back(new_page(table, like, heads, floats));
      auto& page = table.pages_[static_cast<std::size_t>(i)];
      if (page.use_count() == 1) continue;
      auto own = new_page(table, like, heads, floats);
      own->floats.copy_(page->floats);
      page = std::move(own);
    }
    table.length_ = end;
  }

  static std::vector<float*> pointers(const PageTable& table) {
    std::vector<float*> out(table.pages_.size(), nullptr);
    for (auto i = static_cast<std::size_t>(table.first_page_); i < out.size(); ++i)
      out[i] = table.pages_[i]->floats.mutable_data_ptr<float>();
    return out;
  }
  static const std::vector<std::shared_ptr<Page>>& pages(const PageTable& table) { return table.pages_; }
};

PagePool::PagePool() : state_(std::make_shared<State>()) {}
std::int64_t PagePool::pages() const { return state_->held; }
std::int64_t PagePool::spare() const { return std::ssize(state_->spare); }
std::int64_t PagePool::bytes() const { return state_->bytes; }

void PageTable::forget_before(std::int64_t position) {
  const auto end = std::min(position / kPositions, std::ssize(pages_));
  for (; first_page_ < end; ++first_page_) pages_[static_cast<std::size_t>(first_page_)].reset();
}

void PageTable::truncate(std::int64_t length) {
  if (length >= length_) return;
  length_ = length;
  pages_.resize(static_cast<std::size_t>((length + kPositions - 1) / kPositions));
  first_page_ = std::min(first_page_, std::ssize(pages_));
  if (length == 0) first_page_ = 0;
}

namespace {

static_assert(PageTable::kPositions == kernels::kPagePositions);

// One call in the layout of the kernels.
struct PagedCall {
  at::Tensor q, k, v;  // [text, position, kv head, group, dim]; [text, position, kv head, dim]
  kernels::AttentionRule rule;
  autograd::RuleTensors tensors;
  std::span<PageTable* const> texts;

  std::int64_t queries() const { return q.size(1); }
};

at::Tensor by_kernel(const PagedCall& c) {
  const auto q = autograd::row_contiguous(c.q), k = autograd::row_contiguous(c.k),
             v = autograd::row_contiguous(c.v);
  const auto shape = autograd::attention_shape(q, k);
  std::vector<std::vector<float*>> pages;
  std::vector<kernels::PagedText> texts;
  for (const auto* table : c.texts) pages.push_back(PageTable::Access::pointers(*table));
  for (std::size_t i = 0; i < pages.size(); ++i)
    texts.push_back({c.texts[i]->length() - c.queries(), pages[i].data()});
  kernels::write_pages(shape, texts, autograd::key_in(k), autograd::key_in(v));
  auto out = autograd::new_floats(q.sizes());
  kernels::paged_attention(shape, autograd::with_tensors(c.rule, c.tensors), texts, autograd::query_in(q),
                           autograd::data(c.tensors.sinks), autograd::query_out(out));
  return out;
}

// The keys [kv head, position, dim] of a page, or its values.
at::Tensor part_of(const at::Tensor& floats, std::int64_t dim, bool keys) {
  constexpr auto n = PageTable::kPositions;
  const auto heads = floats.size(0), wide = floats.size(1) / n - dim;
  return keys ? floats.narrow(1, 0, n * dim).view({heads, dim, n}).permute({0, 2, 1})
              : floats.narrow(1, n * dim, n * wide).view({heads, n, wide}).narrow(2, 0, dim);
}

// libtorch's own ops, for other types and devices: one text after the other, its pages put together.
at::Tensor by_plain_ops(const PagedCall& c) {
  constexpr auto n = PageTable::kPositions;
  const auto dim = c.q.size(4);
  std::vector<at::Tensor> results;
  for (std::size_t i = 0; i < c.texts.size(); ++i) {
    const auto& table = *c.texts[i];
    const auto& pages = PageTable::Access::pages(table);
    const auto text = static_cast<std::int64_t>(i), length = table.length(), begin = length - c.queries();
    const auto whole = [&](const at::Tensor& fresh, bool keys) {
      std::vector<at::Tensor> parts;
      for (auto at = table.first(); at < length; at += n) {
        auto part = part_of(pages[static_cast<std::size_t>(at / n)]->floats, dim, keys);
        const auto from = std::max(begin, at), to = std::min(length, at + n);
        if (from < to)
          part.narrow(1, from - at, to - from)
              .copy_(fresh.select(0, text).narrow(0, from - begin, to - from).permute({1, 0, 2}));
        parts.push_back(part.narrow(1, 0, to - at));
      }
      return at::_ops::cat::call(at::ITensorListRef(parts), 1).permute({1, 0, 2}).unsqueeze(0);
    };
    auto rule = c.rule;
    rule.offset = begin - table.first();
    const auto k = whole(c.k, true), v = whole(c.v, false);
    results.push_back(plain::attention(c.q.narrow(0, text, 1), k, v, rule, c.tensors));
  }
  return at::_ops::cat::call(at::ITensorListRef(results), 0);
}

void check_paged(const Operand& q, const Operand& k, const AttentionAxes& axes, const AttentionRule& rule) {
  if (!rule.causal || !rule.query_segments.empty()) {
    fail(
        ErrorKind::InvalidArgument,
        "attention: {} with pages of earlier positions\nhint: a text that is read on sees what comes before, all of it",
        rule.causal ? "segments" : "keys after a query");
  }
  const auto queries = whole_size(q.array, find(q.names, axes.position)),
             keys = whole_size(k.array, find(k.names, axes.key_position));
  if (queries != keys) {
    fail(ErrorKind::InvalidArgument,
         "attention: {} new queries and {} new keys\nhint: with pages of earlier positions they are the same",
         queries, keys);
  }
}

}  // namespace

Array paged_attention(const Operand& q, const Operand& k, const Operand& v, const AttentionAxes& axes,
                      const AttentionRule& rule, std::span<PageTable* const> texts) try {
  const std::array<std::string_view, 3> never_cut{axes.position, axes.key_position, axes.head_dim};
  Space space("attention", operands_of(q, k, v, rule), never_cut);
  check_attention(q, k, v, axes);
  check_rule(rule, q);
  check_paged(q, k, axes, rule);
  const auto roles = head_roles(q, k, axes, rule);
  const auto b = product(space, roles.batch), h = product(space, roles.kv_heads),
             g = product(space, roles.group);
  const auto t = space.size(axes.position), d = space.size(axes.head_dim);
  if (b != std::ssize(texts)) {
    fail(ErrorKind::InvalidArgument, "cache: a pass over {} rows meets a batch of {}, of which {} are here",
         texts.size(), whole_size(q.array, 0), b);
  }
  const auto widen = [](const at::Tensor& x) {
    return x.scalar_type() == at::kDouble ? x : autograd::cast(x, at::kFloat);
  };
  const auto order = query_order(roles, axes.position, axes.head_dim);
  const auto local = space.local(q);
  const auto keys = [&](const Operand& x) {
    return reshaped(
        permuted(widen(space.local(x)), x.names, key_order(roles, axes.key_position, axes.head_dim)),
        {b, t, h, d});
  };
  PagedCall call{reshaped(permuted(widen(local), q.names, order), {b, t, h, g, d}).detach(),
                 keys(k).detach(),
                 keys(v).detach(),
                 {.scale = static_cast<float>(rule.scale > 0 ? rule.scale : 1 / std::sqrt(double(d))),
                  .window = rule.window,
                  .soft_cap = static_cast<float>(rule.soft_cap)},
                 {{},
                  {},
                  of_heads(space, "slopes", {rule.slopes, rule.slope_names}, roles),
                  of_heads(space, "sinks", {rule.sinks, rule.sink_names}, roles)},
                 texts};
  auto& tensors = call.tensors;
  if (tensors.slopes.defined()) tensors.slopes = tensors.slopes.to(at::kFloat).contiguous();
  if (tensors.sinks.defined()) tensors.sinks = reshaped(widen(tensors.sinks), {h, g}).contiguous().detach();
  for (auto* table : texts) PageTable::Access::grow(*table, t, call.k, h, kernels::page_floats(1, d));
  const auto wide = autograd::has_kernel(call.q) ? by_kernel(call) : by_plain_ops(call);
  const auto out = autograd::cast(wide, local.scalar_type());
  return space.label(permuted(reshaped(out, sizes_of(space, order)), order, q.names), q.names);
} catch (...) {
  rethrow("attention", {q, k, v});
}

}  // namespace bora::core
