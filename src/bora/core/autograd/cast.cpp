// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/cast.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_zero_ops.h>
#include <ATen/ops/empty_like_ops.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/zeros_ops.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "bora/core/cast_once.h"
#include "bora/core/fp8.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "bora/core/plain_ops.h"
#include "bora/core/torch/device.h"
#include "bora/core/torch/node.h"

namespace bora::core {

// By the memory of the parameter, which has them alive.
struct CastOnceScope::Copies {
  struct Copy {
    at::Tensor parameter, copy;
    bool is_matrix = false;
    std::uint32_t as_of = 0;   // the parameter's version that it is the copy of
    std::int64_t number = -1;  // its place in `largest`

    bool is_current() const { return as_of == parameter._version(); }
  };
  std::unordered_map<const c10::StorageImpl*, Copy> of;
  std::vector<Copy*> in_order;      // of the parameters
  at::Tensor largest;               // |elements|, of the matrices that were copied together in fp8
  std::vector<Copy*> measured;      // whose they are, as they lie behind one another
  std::atomic<bool> stale = false;  // somebody has written to one of them apart from versions

  explicit Copies(std::span<const Parameter> parameters);
  ~Copies();
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  bool are_of(std::span<const Parameter> parameters) const;
};

namespace {
constexpr std::int64_t kPack = 8;  // elements at whose multiples copies begin, as kernels read them
thread_local CastOnceScope::Copies* kept = nullptr;

// All there are, of any thread.
struct AllCopies {
  std::mutex mutex;
  std::vector<CastOnceScope::Copies*> list;
};
AllCopies& all_copies() {
  static AllCopies all;
  return all;
}
const c10::StorageImpl* memory_of(const at::Tensor& x) { return x.storage().unsafeGetStorageImpl(); }
}  // namespace

CastOnceScope::Copies::Copies(std::span<const Parameter> parameters) {
  for (const auto& p : parameters) {
    const auto& x = tensor(*p.array);
    auto& copy = of[memory_of(x)];
    if (!copy.parameter.defined()) in_order.push_back(&copy);
    copy.parameter = x;
    copy.is_matrix = x.dim() > 1 && p.role != Role::bias;
  }
  const std::lock_guard lock(all_copies().mutex);
  all_copies().list.push_back(this);
}
CastOnceScope::Copies::~Copies() {
  const std::lock_guard lock(all_copies().mutex);
  std::erase(all_copies().list, this);
}

bool CastOnceScope::Copies::are_of(std::span<const Parameter> parameters) const {
  for (const auto& p : parameters) {
    const auto& x = tensor(*p.array);
    const auto at = of.find(memory_of(x));
    if (at == of.end() || !at->second.parameter.is_same(x)) return false;
    if (at->second.copy.defined() && !at->second.is_current()) return false;
  }
  return !stale;
}

CastOnceScope::CastOnceScope(std::span<const Parameter> parameters)
    : copies_(std::make_unique<Copies>(parameters)), before_(kept) {
  kept = copies_.get();
}
CastOnceScope::CastOnceScope(std::span<const Parameter> parameters, KeptCopies& keeper)
    : copies_(std::move(keeper.copies_)), before_(kept), keeper_(&keeper) {
  if (copies_ != nullptr && !copies_->are_of(parameters)) copies_.reset();
  if (copies_ == nullptr) copies_ = std::make_unique<Copies>(parameters);
  kept = copies_.get();
}
CastOnceScope::~CastOnceScope() {
  kept = before_;
  const auto lies_there = [](const Copies::Copy* c) { return !c->parameter.is_cpu(); };
  if (keeper_ != nullptr && std::ranges::all_of(copies_->in_order, lies_there))
    keeper_->copies_ = std::move(copies_);
}

KeptCopies::KeptCopies() = default;
KeptCopies::~KeptCopies() = default;

namespace autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// torch copies such arrays on the calling thread alone.
Tensor converted(const Tensor& x, at::ScalarType type) {
  const bool widens = x.scalar_type() == at::kBFloat16 && type == at::kFloat;
  const bool narrows = x.scalar_type() == at::kFloat && type == at::kBFloat16;
  if (!(widens || narrows) || !x.device().is_cpu() || !x.is_non_overlapping_and_dense()) return x.to(type);
  Tensor y = at::_ops::empty_like::call(x, type, {}, {}, {}, at::MemoryFormat::Preserve);
  if (widens) {
    kernels::from_bf16(x.numel(), static_cast<const std::uint16_t*>(x.const_data_ptr()),
                       y.mutable_data_ptr<float>());
  } else {
    kernels::to_bf16(x.numel(), x.const_data_ptr<float>(), static_cast<std::uint16_t*>(y.mutable_data_ptr()));
  }
  return y;
}

// Where the copy of a parameter is kept; null of anything else.
Tensor* place_of_copy(const Tensor& x, at::ScalarType type) {
  if (kept == nullptr || x.scalar_type() != at::kFloat || c10::elementSize(type) >= sizeof(float) ||
      !at::isFloatingType(type))
    return nullptr;
  const auto found = kept->of.find(memory_of(x));
  if (found == kept->of.end()) return nullptr;
  Tensor &parameter = found->second.parameter, &copy = found->second.copy;
  if (copy.defined() && !x.is_cpu() && (kept->stale || !found->second.is_current())) copy.reset();
  // a part of the parameter lies in the same memory
  const bool whole = x.storage_offset() == parameter.storage_offset() && x.sizes() == parameter.sizes() &&
                     x.strides() == parameter.strides() && x.is_non_overlapping_and_dense();
  return !whole || (copy.defined() && copy.scalar_type() != type) ? nullptr : &copy;
}

bool joins_flat_copy(const Tensor& x, const Tensor& parameter) {
  return parameter.device() == x.device() && parameter.scalar_type() == at::kFloat && parameter.numel() > 0 &&
         parameter.is_contiguous() && parameter.has_storage() && parameter.storage().nbytes() > 0;
}

float* number_of(const CastOnceScope::Copies::Copy& copy) {
  return copy.number < 0 ? nullptr : kept->largest.mutable_data_ptr<float>() + copy.number;
}

// On a device all parameters' copies are made at once, when the first is asked for. They lie one behind the other,
// matrices before biases and vectors, so that the weights of maps of one input are one matrix where no gap is between them.
void copy_all(const Tensor& x) {
  std::vector<CastOnceScope::Copies::Copy*> all;
  for (const bool matrices : {true, false}) {
    for (auto* copy : kept->in_order)
      if (copy->is_matrix == matrices && joins_flat_copy(x, copy->parameter)) all.push_back(copy);
  }
  const auto padded = [](std::int64_t n) { return (n + kPack - 1) / kPack * kPack; };
  std::int64_t total = 0;
  for (const auto* copy : all) total += padded(copy->parameter.numel());
  const Tensor flat = at::_ops::empty_memory_format::call({total}, at::kBFloat16, {}, x.device(), {}, {});
  auto& measured = kept->measured;
  measured.clear();
  kept->largest = Tensor();
  if (in_fp8() && device_kernels(x).narrow8.quantize != nullptr) {
    std::ranges::copy_if(all, std::back_inserter(measured), &CastOnceScope::Copies::Copy::is_matrix);
    kept->largest = at::_ops::zeros::call({std::ssize(measured)}, at::kFloat, {}, x.device(), {});
  }
  std::vector<kernels::Narrowed> list;
  std::int64_t first = 0;
  for (auto* copy : all) {
    copy->number = std::ssize(list) < std::ssize(measured) ? std::ssize(list) : -1;
    const Tensor parameter = copy->parameter.detach();
    const auto n = parameter.numel();
    copy->copy = flat.narrow(0, first, n).view(parameter.sizes());
    copy->as_of = copy->parameter._version();
    list.push_back({n, parameter.const_data_ptr<float>(), copy->copy.mutable_data_ptr(), number_of(*copy)});
    first += padded(n);
  }
  device_kernels(x).narrow(std::ssize(list), list.data(), stream_of(x));
}

Tensor converted_once(const Tensor& x, at::ScalarType type) {
  Tensor* copy = place_of_copy(x, type);
  if (copy == nullptr) return converted(x, type);
  if (!copy->defined() && type == at::kBFloat16 && joins_flat_copy(x, x) && !plain_ops() &&
      device_kernels(x).narrow != nullptr)
    copy_all(x.detach());
  if (!copy->defined()) {
    *copy = converted(x, type).detach();
    kept->of[memory_of(x)].as_of = x._version();
  }
  return copy->detach();
}

struct Cast : torch::autograd::Function<Cast> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, at::ScalarType type) {
    ctx->saved_data["type"] = static_cast<std::int64_t>(x.scalar_type());
    return converted_once(x, type);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {cast(grads[0], static_cast<at::ScalarType>(ctx->saved_data["type"].toInt())), Tensor()};
  }
};

}  // namespace

Tensor cast(const Tensor& x, at::ScalarType type) {
  if (x.scalar_type() == type) return x;
  if (is_plain(x) && place_of_copy(x, type) == nullptr) return x.to(type);
  const bool recorded = at::GradMode::is_enabled() && x.requires_grad() && at::isFloatingType(type);
  return recorded ? Cast::apply(x, type) : converted_once(x, type);
}

void make_copies() {
  if (kept == nullptr || kept->stale) return;
  for (const auto* copy : kept->in_order) {
    const Tensor& x = copy->parameter;
    if (!joins_flat_copy(x, x) || (copy->copy.defined() && copy->is_current())) continue;
    if (device_kernels(x).narrow != nullptr) copy_all(x.detach());
    return;
  }
}

std::optional<std::vector<const void*>> places_of_copies() {
  std::vector<const void*> out;
  if (kept == nullptr) return out;
  for (const auto* copy : kept->in_order) {
    if (!joins_flat_copy(copy->parameter, copy->parameter)) continue;
    if (kept->stale || !copy->copy.defined() || !copy->is_current()) return std::nullopt;
    out.push_back(copy->copy.const_data_ptr());
  }
  if (kept->largest.defined()) out.push_back(kept->largest.const_data_ptr());
  return out;
}

std::vector<KeptCopy> kept_copies_to_write(std::span<const Tensor> parameters) {
  std::vector<KeptCopy> out;
  std::vector<std::int64_t> numbers;
  for (const auto& x : parameters) {
    auto& place = out.emplace_back();
    Tensor* copy = x.is_cpu() ? nullptr : place_of_copy(x, at::kBFloat16);
    if (copy == nullptr || !copy->defined() || !copy->is_contiguous()) continue;
    const auto& own = kept->of.at(memory_of(x));
    place = {copy->mutable_data_ptr(), number_of(own)};
    if (place.largest != nullptr) numbers.push_back(own.number);
  }
  std::ranges::sort(numbers);
  std::vector<Tensor> runs;  // one, if all are written
  for (std::size_t begin = 0, i = 1; i <= numbers.size(); ++i) {
    if (i < numbers.size() && numbers[i] == numbers[i - 1] + 1) continue;
    runs.push_back(kept->largest.narrow(0, numbers[begin], numbers[i - 1] + 1 - numbers[begin]));
    begin = i;
  }
  if (!runs.empty()) at::_ops::_foreach_zero_::call(runs);
  return out;
}

Tensor largest_of_copies(const Tensor& x) {
  if (kept == nullptr || !kept->largest.defined() || !x.is_non_overlapping_and_dense()) return {};
  std::int64_t next = x.storage_offset(), number = 0, count = 0;
  const std::int64_t end = next + x.numel();
  for (const auto* each : kept->measured) {
    const Tensor& copy = each->copy;
    if (next == end || !copy.defined() || copy.storage_offset() != next || memory_of(copy) != memory_of(x))
      continue;
    if (count++ == 0) number = each->number;
    next += copy.numel();
  }
  return count == 0 || next != end ? Tensor() : kept->largest.narrow(0, number, count);
}

void has_changed(const Tensor& x, bool with_its_copy) {
  if (x.is_cpu()) return;
  if (with_its_copy) {
    x.unsafeGetTensorImpl()->bump_version();
    kept->of[memory_of(x)].as_of = x._version();
    return;
  }
  const std::lock_guard lock(all_copies().mutex);
  for (auto* copies : all_copies().list) {
    if (copies->of.contains(memory_of(x))) copies->stale = true;
  }
}

bool is_plain(const Tensor& x) { return !x.device().is_cpu() || plain_ops(); }

bool on_a_device(const Tensor& x) {
  return !x.device().is_cpu() && !plain_ops() && (x.scalar_type() == at::kFloat || is_low_precision(x));
}

bool has_kernel(const Tensor& x) {
  return !is_plain(x) && (x.scalar_type() == at::kFloat || is_low_precision(x));
}

}  // namespace autograd
}  // namespace bora::core
