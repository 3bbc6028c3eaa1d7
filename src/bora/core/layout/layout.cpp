// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/layout/layout.h"

#include <ATen/ops/split_ops.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cassert>
#include <optional>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/core/device.h"
#include "bora/core/grad.h"
#include "bora/core/lane_sums.h"
#include "bora/core/layout/convert.h"

namespace bora::core {
namespace {

// Gradients would be lost without a word.
void refuse_escaped(std::string_view op, const Operand& x) {
  fail(ErrorKind::InvalidArgument,
       "{}: {} was made inside a block that is computed again in the backward pass (remat), and used outside "
       "of it, "
       "where no gradient can reach it\nhint: return it from the block, in a struct beside the hidden state, "
       "or take "
       "stop_gradient() of it",
       op, describe(x));
}

void check_operand(std::string_view op, const Operand& x) {
  if (x.array.empty()) {
    fail(ErrorKind::InvalidArgument, "{}: the operand {} is empty (it was never given a value)", op,
         describe(x.names));
  }
  const std::int64_t rank = alike(x.array).dim();
  if (rank != static_cast<std::int64_t>(x.names.size())) {
    fail(ErrorKind::InvalidArgument, "{}: {} axes are named for an array of {} dimensions: {}", op,
         x.names.size(), rank, describe(x));
  }
  if (x.array.node()->unrecorded && recording() && alike(x.array).is_floating_point()) refuse_escaped(op, x);
  for (std::size_t i = 1; i < x.names.size(); ++i) {
    if (find(x.names.first(i), x.names[i]) >= 0) {
      fail(ErrorKind::InvalidArgument, "{}: axis {} appears twice in {}\nhint: rename one of them", op,
           x.names[i], describe(x));
    }
  }
}

bool recording_now() { return at::GradMode::is_enabled(); }

// The mesh axis of which this worker has several lanes in a space.
std::optional<std::size_t> laned_axis(const Mapping* mapping,
                                      const std::array<std::int8_t, Mapping::kMeshAxes>& owner) {
  for (std::size_t m = 0; mapping != nullptr && m < mapping->size(); ++m)
    if (owner[m] >= 0 && mapping->lanes(m) > 1) return m;
  return std::nullopt;
}

bool same(Names a, Names b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

}  // namespace

int find(Names names, std::string_view axis) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == axis) return static_cast<int>(i);
  }
  return -1;
}

int require(std::string_view op, const Operand& x, std::string_view axis) {
  const int at = find(x.names, axis);
  if (at >= 0) return at;
  const auto likely = nearest(axis, std::vector<std::string>(x.names.begin(), x.names.end()));
  fail(ErrorKind::InvalidArgument, "{}: no axis {} in {}{}", op, axis, describe(x),
       likely ? "; did you mean " + *likely + "?" : "");
}

Space::Space(std::string_view op, std::initializer_list<Operand> operands, Names whole)
    : Space(op, std::span<const Operand>(operands.begin(), operands.size()), whole) {}

Space::Space(std::string_view op, std::span<const Operand> operands, Names whole)
    : op_(op), mapping_(mapping()) {
  for (const Operand& x : operands) add(x);
  if (mapping_ != nullptr) assign_mesh_axes(whole);
  placed_ = nullptr;
  first_.clear();  // the operands themselves need not outlive this call
}

void Space::check_device(const Operand& x) {
  if (placed_ == nullptr) placed_ = &x;
  if (alike(x.array).device() == alike(placed_->array).device()) return;
  fail(ErrorKind::InvalidArgument,
       "{}: {} is on {} but {} is on {}\nhint: nothing moves by itself; core::to() brings one to the other's "
       "device",
       op_, describe(*placed_), name(device_of(placed_->array)), describe(x), name(device_of(x.array)));
}

void Space::add(const Operand& x) {
  check_operand(op_, x);
  check_device(x);
  for (std::size_t i = 0; i < x.names.size(); ++i) {
    const auto dim = static_cast<int>(i);
    const std::int64_t size = mapping_ == nullptr ? alike(x.array).size(dim) : whole_size(x.array, dim);
    const int known = index(x.names[i]);
    if (known < 0) {
      names_.push_back(x.names[i]);
      sizes_.push_back(size);
      first_.push_back(&x);
    } else if (sizes_[known] != size) {
      const bool one = sizes_[known] == 1 || size == 1;
      fail(ErrorKind::InvalidArgument, "{}: axis {} is {} in {} but {} in {}\nhint: {}", op_, x.names[i],
           sizes_[known], describe(*first_[known]), size, describe(x),
           one ? "size 1 is not stretched; drop the axis and it is repeated by name"
               : "one name has one size; rename one of the two axes if they are different things");
    }
  }
}

void Space::assign_mesh_axes(Names whole) {
  for (std::size_t m = 0; m < mapping_->size(); ++m) {
    owner_[m] = kNobody;
    const auto at = mapping_->owner(m, names_, whole);
    if (!at) continue;
    owner_[m] = static_cast<std::int8_t>(*at);
    const int n = mapping_->blocks(m);
    if (sizes_[*at] % n == 0) continue;
    fail(ErrorKind::InvalidArgument,
         "{}: axis {} of size {} cannot be cut into {} equal shards for the mesh axis {}\nhint: another size "
         "of "
         "the mesh axis, or take {} out of its axes",
         op_, names_[*at], sizes_[*at], n, mapping_->mesh_axis(m).name, names_[*at]);
  }
}

std::int64_t Space::size(std::string_view axis) const {
  const int at = index(axis);
  if (at >= 0) return sizes_[at];
  const auto likely = nearest(axis, std::vector<std::string>(names_.begin(), names_.end()));
  fail(ErrorKind::InvalidArgument, "{}: no axis {} in {}{}", op_, axis, describe(Shape{names_, sizes_}),
       likely ? "; did you mean " + *likely + "?" : "");
}

Collectives* Space::workers(std::string_view axis) const {
  if (mapping_ == nullptr) return nullptr;
  const int at = index(axis);
  for (std::size_t m = 0; m < mapping_->size(); ++m) {
    if (at >= 0 && owner_[m] == at) return &mapping_->workers(m);
  }
  return nullptr;
}

std::int64_t Space::part(std::string_view axis) const {
  const auto* shared = workers(axis);
  return shared == nullptr ? size(axis) : size(axis) / shared->size();
}

std::int64_t Space::first(std::string_view axis) const {
  const auto* shared = workers(axis);
  return shared == nullptr ? 0 : size(axis) / shared->size() * shared->rank();
}

std::string_view Space::laned() const {
  const auto m = laned_axis(mapping_, owner_);
  return m ? names_[owner_[*m]] : std::string_view();
}

int Space::lanes() const {
  const auto m = laned_axis(mapping_, owner_);
  return m ? mapping_->lanes(*m) : 1;
}

std::vector<at::Tensor> Space::local_lanes(const Operand& x) const {
  const int n = lanes();
  if (n == 1) return {local(x)};
  const int dim = find(x.names, laned());
  if (dim < 0) return converted(x, n);
  auto blocks = at::_ops::split_Tensor::call(local(x), lane_part(laned()), dim);
  for (auto& b : blocks) b = b.contiguous();  // as a worker that has this lane alone holds it
  return blocks;
}

at::Tensor Space::parameter_of(const Operand& x, const at::Tensor& used) const {
  const Array& parameter = x.array.node()->wide;
  if (parameter.empty() || !used.is_same(tensor(x.array))) return {};
  for (std::size_t m = 0; mapping_ != nullptr && m < mapping_->size(); ++m)
    if (mapping_->fixed(m)) return {};
  return tensor(parameter);
}

void Space::refuse_sum(std::string_view axis, std::size_t m) const {
  if (by_lanes_ || !mapping_->fixed(m)) return;
  throw Error(ErrorKind::Unsupported,
              sum_off_lanes(op_, axis, mapping_->mesh_axis(m).name, mapping_->blocks(m)));
}

// Gathered, it would get this worker's gradient alone.
void Space::refuse_foreign(const Operand& x, std::size_t m) const {
  const auto axis = x.names[static_cast<std::size_t>(x.array.node()->layout.place[m])];
  fail(ErrorKind::Unsupported,
       "{}: {} lies in shards along {} over the mesh axis {}, whose workers compute different lanes\nhint: "
       "experts that tokens choose (with_own_experts) can lie there; put {} on another mesh axis",
       op_, describe(x), axis, mapping_->mesh_axis(m).name, axis);
}

// The rule table, for one mesh axis after the other. `w` is the axis of the space that the mesh axis serves.
std::vector<at::Tensor> Space::converted(const Operand& x, int copies) const {
  using autograd::Convert;
  struct Step {
    Convert how;
    int dim;
    std::size_t mesh;
  };
  std::vector<Step> steps;
  Node& node = *x.array.node();
  if (node.stored) refuse_stored(op_, x);
  Conversion key{node.layout, 0, recording_now(), {}};
  const bool has_gradient = key.recorded && node.tensor.requires_grad();
  for (std::size_t m = 0; m < mapping_->size(); ++m) {
    const bool served = owner_[m] != kNobody;
    const int at = served ? find(x.names, names_[owner_[m]]) : -1;
    const std::int8_t stored = node.layout.place[m];
    const auto add = [&](Convert how, int dim) {
      steps.push_back({how, dim, m});
      if (how != Convert::lift && how != Convert::sum_lift && how != Convert::gather) return;
      key.lifted |= 1U << m;
      if (has_gradient) refuse_sum(names_[owner_[m]], m);
    };
    key.layout.place[m] = static_cast<std::int8_t>(at >= 0 ? at : Layout::kReplicated);
    if (stored == Layout::kPartial) {
      add(!served ? Convert::sum : at >= 0 ? Convert::scatter : Convert::sum_lift, at);
    } else if (stored == Layout::kReplicated) {
      if (at >= 0) {
        add(Convert::slice, at);
      } else if (node.use) {
        (served ? node.use->pending : node.use->alone) |= 1U << m;
        if (served && has_gradient) refuse_sum(names_[owner_[m]], m);
      } else if (served && node.tensor.requires_grad()) {
        add(Convert::lift, -1);
      }
    } else if (stored != at) {
      if (has_gradient && mapping_->own_lanes(m)) refuse_foreign(x, m);
      add(served && at < 0 ? Convert::gather : Convert::collect, stored);
      if (at >= 0) add(Convert::slice, at);
    }
  }
  const auto n = static_cast<std::size_t>(copies);
  if (steps.empty()) return std::vector<at::Tensor>(n, node.tensor);
  for (const Conversion& known : node.conversions) {
    if (known.layout == key.layout && known.lifted == key.lifted && known.recorded == key.recorded &&
        known.tensors.size() == n)
      return known.tensors;
  }
  at::Tensor t = node.tensor;
  for (const Step& step : steps) t = autograd::convert(t, step.how, step.dim, mapping_->workers(step.mesh));
  key.tensors = copies == 1 ? std::vector<at::Tensor>{t} : autograd::fan(t, copies);
  // a parameter outlives the pass and changes
  if (!node.use) node.conversions.push_back(key);
  return key.tensors;
}

Array Space::label(at::Tensor t, Names names) const { return label(std::move(t), names, {}); }

Array Space::label(at::Tensor t, Names names, Names summed) const {
  assert(t.dim() == static_cast<std::int64_t>(names.size()));
  Array result = wrap(std::move(t));
  if (mapping_ == nullptr) return result;
  for (std::size_t m = 0; m < mapping_->size(); ++m) {
    if (owner_[m] == kNobody) continue;
    const std::string_view axis = names_[owner_[m]];
    const int at = find(names, axis);
    if (at >= 0)
      result.node()->layout.place[m] = static_cast<std::int8_t>(at);
    else if (find(summed, axis) < 0) {
      refuse_sum(axis, m);
      result.node()->layout.place[m] = Layout::kPartial;
    }
  }
  return result;
}

int Space::index(std::string_view axis) const { return find(names_, axis); }

Array labelled_as(const Array& like, at::Tensor t) {
  Array out(new Node(std::move(t), like.node()->layout));
  out.node()->use = like.node()->use;
  return out;
}

at::Tensor aligned(const at::Tensor& x, Names from, Names to) {
  if (same(from, to)) return x;
  std::vector<std::int64_t> order, sizes;
  order.reserve(from.size());
  sizes.reserve(to.size());
  for (const std::string_view axis : to) {
    const int at = find(from, axis);
    if (at >= 0) order.push_back(at);
    sizes.push_back(at < 0 ? 1 : x.size(at));
  }
  const bool moved = !std::is_sorted(order.begin(), order.end());
  const at::Tensor permuted = moved ? x.permute(order) : x;
  return order.size() == to.size() ? permuted : permuted.view(sizes);
}

}  // namespace bora::core
