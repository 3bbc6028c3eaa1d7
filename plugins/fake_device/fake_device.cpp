// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "fake_device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/mman.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "bora/base/env.h"
#include "bora/core/device_kernels.h"
#include "bora/core/out_of_memory.h"
#include "copies.h"
#include "graph.h"
#include "kernels.h"

namespace bora::fake_device {
namespace {

constexpr auto kKey = c10::DispatchKey::PrivateUse1;
constexpr auto kType = c10::DeviceType::PrivateUse1;
constexpr std::size_t kMemory = std::size_t{1} << 33;  // of addresses; pages come when they are written
constexpr std::size_t kGrain = 512;

// The one that this thread gives work to; 0 is the default one. All work is done at once.
thread_local std::int64_t stream_now = 0;

char* mapped(int protection) {
  void* p = mmap(nullptr, kMemory, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(p);
}

// Addresses of the device, and where the host may read what lies there.
class Memory {
 public:
  static Memory& get() {
    static Memory memory;
    return memory;
  }

  // As libtorch's allocator for GPUs: what a stream other than the default one has given back is kept for that stream.
  void* take(std::size_t bytes) {
    const std::size_t size = (bytes + kGrain - 1) / kGrain * kGrain;
    const std::lock_guard lock(mutex_);
    if (noting() && !noting_on(stream_now)) refuse_while_noting("memory of another stream");
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (stream_now != 0)
        if (void* p = take_of(kept_[stream_now], size)) return p;
      if (static_cast<std::int64_t>(size) <= limit_ - live_ - kept_bytes())
        if (void* p = take_of(free_, size)) return p;
      give_up_kept();
    }
    refuse(bytes);
  }

  void give_back(void* p) {
    const std::lock_guard lock(mutex_);
    const auto it = used_.find(offset(p));
    const auto [size, stream] = it->second;
    clear(it->first, size);
    live_ -= static_cast<std::int64_t>(size);
    join(stream == 0 ? free_ : kept_[stream], it->first, size);
    used_.erase(it);
  }

  std::int64_t times_given_up() {
    const std::lock_guard lock(mutex_);
    return times_given_up_;
  }

  std::function<void()> now() {
    const std::lock_guard lock(mutex_);
    std::map<std::size_t, std::vector<char>> was;
    for (const auto& [first, block] : used_)
      was.emplace(first, std::vector<char>(shadow_ + first, shadow_ + first + block.size));
    return [this, was = std::move(was)] {
      const std::lock_guard again(mutex_);
      for (const auto& [first, block] : used_) {
        const auto before = was.find(first);
        if (before != was.end() && before->second.size() == block.size)
          std::copy(before->second.begin(), before->second.end(), shadow_ + first);
        else
          std::memset(shadow_ + first, 0xff, block.size);
      }
    };
  }

  bool has(const void* p) const { return p >= addresses_ && p < addresses_ + kMemory; }
  char* host(const void* p) const { return shadow_ + offset(p); }
  template <class T>
  T* host(T* p) const {
    return reinterpret_cast<T*>(shadow_ + offset(p));
  }

  core::DeviceMemory bytes() {
    const std::lock_guard lock(mutex_);
    return counted();
  }

  void count_anew() {
    const std::lock_guard lock(mutex_);
    peak_ = live_;
  }

  void limit(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
  }

 private:
  using Ranges = std::map<std::size_t, std::size_t>;  // first byte, size
  struct Block {
    std::size_t size;
    std::int64_t stream;
  };
  Memory() : addresses_(mapped(PROT_NONE)), shadow_(mapped(PROT_READ | PROT_WRITE)) {
    free_.emplace(0, kMemory);
  }

  core::DeviceMemory counted() const {
    return {.live = live_, .peak = peak_, .total = limit_, .free = limit_ - live_};
  }
  [[noreturn]] void refuse(std::size_t bytes) const {
    throw core::OutOfMemory({core::Device::Type::test, 0}, static_cast<std::int64_t>(bytes), counted());
  }

  std::size_t offset(const void* p) const {
    return static_cast<std::size_t>(static_cast<const char*>(p) - addresses_);
  }
  void* take_of(Ranges& free, std::size_t size) {
    for (auto it = free.begin(); it != free.end(); ++it) {
      if (it->second < size) continue;
      const auto [first, room] = *it;
      free.erase(it);
      if (room > size) free.emplace(first + size, room - size);
      used_.emplace(first, Block{size, stream_now});
      clear(first, size);
      live_ += static_cast<std::int64_t>(size);
      peak_ = std::max(peak_, live_);
      return addresses_ + first;
    }
    return nullptr;
  }
  void clear(std::size_t first, std::size_t size) {
    const auto clear_there = [at = shadow_ + first, size] {
      std::memset(at, 0xff, size);
      cleared(at, size);
    };
    clear_there();
    note(clear_there);
  }
  static void join(Ranges& all, std::size_t first, std::size_t size) {
    const auto freed = all.emplace(first, size).first;
    join(all, freed, std::next(freed));
    if (freed != all.begin()) join(all, std::prev(freed), freed);
  }
  static void join(Ranges& all, Ranges::iterator left, Ranges::iterator right) {
    if (right == all.end() || left->first + left->second != right->first) return;
    left->second += right->second;
    all.erase(right);
  }
  std::int64_t kept_bytes() const {
    std::size_t sum = 0;
    for (const auto& [stream, ranges] : kept_)
      for (const auto& [first, size] : ranges) sum += size;
    return static_cast<std::int64_t>(sum);
  }
  void give_up_kept() {
    if (kept_bytes() == 0) return;
    ++times_given_up_;
    for (auto& [stream, ranges] : kept_) {
      for (const auto& [first, size] : ranges) join(free_, first, size);
      ranges.clear();
    }
  }

  char *addresses_, *shadow_;
  std::mutex mutex_;
  Ranges free_;
  std::map<std::int64_t, Ranges> kept_;  // by stream
  std::map<std::size_t, Block> used_;    // by first byte
  std::int64_t live_ = 0, peak_ = 0, limit_ = kMemory, times_given_up_ = 0;
};

std::mutex count_mutex;
Counts current;
std::map<std::string, std::int64_t> by_name;

void waited() {
  refuse_while_noting("the host waits");
  const std::lock_guard lock(count_mutex);
  ++current.synchronizations;
}

void uploaded() {
  refuse_while_noting("the host sends an array");
  const std::lock_guard lock(count_mutex);
  ++current.uploads;
}

// Memory of the host that the device reads by itself.
struct Pinned final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) override {
    void* p = std::malloc(std::max<std::size_t>(bytes, 1));
    if (p == nullptr) throw std::bad_alloc();
    const std::lock_guard lock(mutex_);
    there_.insert(p);
    return {p, p, &free_pinned, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
  bool holds(const void* p) {
    const std::lock_guard lock(mutex_);
    return there_.contains(p);
  }
  static void free_pinned(void* p);

 private:
  std::mutex mutex_;
  std::set<const void*> there_;
};
Pinned& pinned() {
  static auto* const all = new Pinned;  // arrays may go after what is static
  return *all;
}
void Pinned::free_pinned(void* p) {
  {
    const std::lock_guard lock(pinned().mutex_);
    pinned().there_.erase(p);
  }
  std::free(p);
}

void free_memory(void* p) {
  if (p != nullptr) Memory::get().give_back(p);
}

struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) override {
    void* p = bytes == 0 ? nullptr : Memory::get().take(bytes);
    return {p, p, &free_memory, c10::Device(kType, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_memory; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(Memory::get().host(to), Memory::get().host(from), bytes);
  }
};
Allocator allocator;

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device /*device*/) const override { return {kType, 0}; }
  c10::Device getDevice() const override { return {kType, 0}; }
  void setDevice(c10::Device /*device*/) const override {}
  void uncheckedSetDevice(c10::Device /*device*/) const noexcept override {}
  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, stream_now);
  }
  c10::Stream getNewStream(c10::Device device, int /*priority*/) const override {
    static std::atomic<std::int64_t> last = 0;
    return c10::Stream(c10::Stream::UNSAFE, device, ++last);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return c10::Stream(c10::Stream::UNSAFE, stream.device(), std::exchange(stream_now, stream.id()));
  }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void** event, const c10::Stream& /*stream*/, c10::DeviceIndex /*index*/,
              c10::EventFlag /*flag*/) const override {
    static int only;
    *event = &only;
  }
  void block(void* /*event*/, const c10::Stream& /*stream*/) const override {}
  bool queryEvent(void* /*event*/) const override { return true; }
  void destroyEvent(void* /*event*/, c10::DeviceIndex /*index*/) const noexcept override {}
  bool queryStream(const c10::Stream& /*stream*/) const override { return true; }
  void synchronizeStream(const c10::Stream& /*stream*/) const override { waited(); }
  void* getStreamNativeHandle(c10::Stream stream) const override {
    return reinterpret_cast<void*>(static_cast<std::intptr_t>(stream.id()));  // NOLINT: a number
  }
  void recordDataPtrOnStream(const c10::DataPtr& /*data*/, const c10::Stream& /*stream*/) const override {}
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex /*index*/) const override { return true; }
  void init() const override {}
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  bool isPinnedPtr(const void* data) const override { return pinned().holds(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned(); }
};
Hooks hooks;

bool is_here(const at::Tensor& t) { return t.defined() && t.device().type() == kType; }

at::Tensor new_on_host(const at::Tensor& like) {
  return at::_ops::empty_memory_format::call(like.sym_sizes(), like.scalar_type(), {}, at::Device(at::kCPU),
                                             {}, {});
}

// The same elements, where the host reads them.
at::Tensor on_host(const at::Tensor& t) {
  if (!is_here(t)) return t;
  const void* base = t.storage().data();
  if (base == nullptr) return new_on_host(t);
  char* data = Memory::get().host(base) + t.storage_offset() * static_cast<std::int64_t>(t.element_size());
  return at::from_blob(
      data, t.sizes(), t.strides(), [](void*) {},
      at::TensorOptions().dtype(t.scalar_type()).device(at::kCPU));
}

at::Tensor on_device(const at::Tensor& host) {
  if (!host.defined()) return host;
  at::Tensor t(at::detail::empty_strided_generic(host.sizes(), host.strides(), &allocator,
                                                 c10::DispatchKeySet(kKey), host.scalar_type()));
  on_host(t).copy_(host);
  return t;
}

at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> /*layout*/, std::optional<at::Device> /*device*/,
                 std::optional<bool> /*pin*/, std::optional<at::MemoryFormat> format) {
  return at::Tensor(at::detail::empty_generic(sizes, &allocator, c10::DispatchKeySet(kKey),
                                              dtype.value_or(at::kFloat), format));
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> /*layout*/, std::optional<at::Device> /*device*/,
                         std::optional<bool> /*pin*/) {
  return at::Tensor(at::detail::empty_strided_generic(sizes, strides, &allocator, c10::DispatchKeySet(kKey),
                                                      dtype.value_or(at::kFloat)));
}

// What works on the device's memory alone, by views of it that have nothing alive.
template <class F>
void do_and_note(const F& f) {
  f();
  if (noting()) note(f);
}

// Between host and device libtorch waits for all that was begun before, but for copies out of pinned memory that need
// not be done at once.
at::Tensor& copy(at::Tensor& self, const at::Tensor& from, bool non_blocking) {
  computed("aten::copy_");
  if (is_here(from) != is_here(self)) {
    if (is_here(self) && non_blocking && pinned().holds(from.storage().data()))
      uploaded();
    else
      waited();
    const std::lock_guard lock(count_mutex);
    current.host_bytes += self.numel() * static_cast<std::int64_t>(self.element_size());
  }
  do_and_note([to = on_host(self), here = on_host(from)] { to.copy_(here); });
  return self;
}

at::Tensor as_strided(const at::Tensor& x, at::IntArrayRef sizes, at::IntArrayRef strides,
                      std::optional<std::int64_t> offset) {
  return at::native::as_strided_tensorimpl(x, sizes, strides, offset);
}
at::Tensor view(const at::Tensor& x, at::IntArrayRef sizes) { return at::native::view(x, sizes); }
at::Tensor reshape_alias(const at::Tensor& x, at::IntArrayRef sizes, at::IntArrayRef strides) {
  return at::native::_reshape_alias(x, sizes, strides);
}

// An argument as the CPU's operation takes it. What may grow (an empty out=) is a new array of the host's.
c10::IValue argument_on_host(const c10::IValue& given, const c10::AliasInfo* written) {
  if (given.isTensor()) {
    const at::Tensor& t = given.toTensor();
    if (is_here(t) && t.numel() == 0 && written != nullptr && written->isWrite()) return new_on_host(t);
    return on_host(t);
  }
  if (given.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& t : given.toTensorVector()) list.push_back(on_host(t));
    return list;
  }
  if (given.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& t : given.toOptionalTensorVector()) list.push_back(t ? std::optional(on_host(*t)) : t);
    return list;
  }
  if (given.isDevice()) return c10::Device(c10::kCPU);
  return given;
}

// What an operation wrote into its argument, which may have grown.
c10::IValue written_back(const at::Tensor& argument, const at::Tensor& result) {
  if (argument.numel() == 0 && result.numel() != 0) {
    const at::Tensor grown = on_device(result);
    auto* impl = argument.unsafeGetTensorImpl();
    impl->set_storage_keep_dtype(grown.storage());
    impl->set_sizes_and_strides(grown.sizes(), grown.strides());
  }
  TORCH_CHECK(argument.sizes() == result.sizes(), "fake device: an output of another size");
  return argument;
}

c10::IValue result_on_device(const c10::IValue& result) {
  if (result.isTensor()) return on_device(result.toTensor());
  if (!result.isTensorList()) return result;
  c10::List<at::Tensor> list;
  for (const at::Tensor& t : result.toTensorVector()) list.push_back(on_device(t));
  return list;
}

// The operation once more, over what its operands hold then; results go to where they went before.
void note_again(const c10::OperatorHandle& op, const std::vector<c10::IValue>& arguments,
                const std::vector<c10::IValue>& results) {
  std::vector<std::vector<at::Tensor>> to;
  for (const auto& result : results) {
    to.emplace_back();
    if (result.isTensor()) to.back().push_back(on_host(result.toTensor()));
    if (result.isTensorList())
      for (const at::Tensor& t : result.toTensorVector()) to.back().push_back(on_host(t));
  }
  note([op, arguments, to] {
    torch::jit::Stack stack(arguments);
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
    const auto put = [](const at::Tensor& there, const at::Tensor& result) {
      if (there.defined() && there.numel() > 0 && there.const_data_ptr() != result.const_data_ptr())
        there.copy_(result);
    };
    for (std::size_t r = 0; r < to.size(); ++r) {
      if (stack[r].isTensor()) put(to[r].at(0), stack[r].toTensor());
      if (!stack[r].isTensorList()) continue;
      const auto list = stack[r].toTensorVector();
      for (std::size_t i = 0; i < list.size(); ++i) put(to[r].at(i), list[i]);
    }
  });
}

void on_the_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  computed(schema.name());
  if (schema.name() == "aten::_local_scalar_dense") waited();
  const auto& arguments = schema.arguments();
  const auto begin = stack->end() - static_cast<std::ptrdiff_t>(arguments.size());
  const std::vector<c10::IValue> given(begin, stack->end());
  stack->erase(begin, stack->end());
  for (std::size_t i = 0; i < given.size(); ++i)
    stack->push_back(argument_on_host(given[i], arguments[i].alias_info()));
  const std::vector<c10::IValue> alive(stack->end() - static_cast<std::ptrdiff_t>(given.size()),
                                       stack->end());
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  const auto first = stack->size() - schema.returns().size();
  for (std::size_t r = 0; r < schema.returns().size(); ++r) {
    c10::IValue& result = (*stack)[first + r];
    const auto* alias = schema.returns()[r].alias_info();
    if (alias == nullptr) {
      result = result_on_device(result);
      continue;
    }
    TORCH_CHECK(alias->isWrite(), "fake device: a view without a kernel: ", schema.name());
    for (std::size_t a = 0; a < given.size(); ++a) {
      const auto* of = arguments[a].alias_info();
      if (of != nullptr && *of == *alias) result = written_back(given[a].toTensor(), result.toTensor());
    }
  }
  if (noting()) note_again(op, alive, {stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end()});
}

[[maybe_unused]] const bool ready = [] {
  core::register_device(core::Device::Type::test,
                        {.kernels = kernels(),
                         .memory = [](std::int8_t) { return Memory::get().bytes(); },
                         .description = [](std::int8_t) { return std::string("device of the tests"); },
                         .times_given_back = [](std::int8_t) { return Memory::get().times_given_up(); },
                         .count_anew = [](std::int8_t) { Memory::get().count_anew(); }});
  c10::SetAllocator(kType, &allocator);
  // libtorch takes one device beside the CPU, and this time it is a GPU.
  if (env::for_tests("TEST_DEVICE").value_or("test") != "test") return false;
  c10::register_privateuse1_backend("test");
  at::RegisterPrivateUse1HooksInterface(&hooks);
  return true;
}();
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_cpu>());
}
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", TORCH_FN(empty));
  library.impl("empty_strided", TORCH_FN(empty_strided));
  library.impl("copy_", TORCH_FN(copy));
  library.impl("as_strided", TORCH_FN(as_strided));
  library.impl("view", TORCH_FN(view));
  library.impl("_reshape_alias", TORCH_FN(reshape_alias));
}

}  // namespace

bool is_address(const void* p) { return Memory::get().has(p); }

void carried(std::int64_t bytes) {
  const std::lock_guard lock(count_mutex);
  current.carried_bytes += bytes;
}

void* shadow(const void* p) { return p == nullptr ? nullptr : Memory::get().host(p); }

std::function<void()> memory_now() { return Memory::get().now(); }

void computed(const std::string& name) {
  if (launching()) return;  // the graph was counted
  const std::lock_guard lock(count_mutex);
  ++current.operations;
  ++by_name[name];
}

void launched(const std::string& name) {
  if (launching()) return;
  computed(name);
  const std::lock_guard lock(count_mutex);
  ++current.kernels;
}

Counts counts() {
  const std::lock_guard lock(count_mutex);
  return current;
}

std::map<std::string, std::int64_t> operations_by_name() {
  const std::lock_guard lock(count_mutex);
  return by_name;
}

void reset() {
  const std::lock_guard lock(count_mutex);
  current = {};
  by_name.clear();
  reset_copy_counts();
}

void limit_memory(std::optional<std::int64_t> bytes) {
  Memory::get().limit(bytes.value_or(static_cast<std::int64_t>(kMemory)));
}

}  // namespace bora::fake_device
