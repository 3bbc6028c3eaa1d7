// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Products with an activation in them, as GPUs' library has them: of bf16, GELU by tanh, sizes in multiples of 8.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>

#include "bora/core/kernels/cpu/activation.h"
#include "bora/core/kernels/cpu/matmul.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "graph.h"
#include "kernels.h"

namespace bora::fake_device {
namespace {

using core::Activation;
using core::DType;
using Stream = core::DeviceKernels::Stream;

constexpr std::int64_t kProductPack = 8, kProductRoom = 256;

bool takes_product(Activation f, DType type) { return f == Activation::gelu_tanh && type == DType::bf16; }
bool sizes_fit(std::int64_t n, std::int64_t k) { return n % kProductPack == 0 && k % kProductPack == 0; }

// Where arrays of the CPU begin: products of MKL have other bits at other places.
class Numbers {
 public:
  explicit Numbers(std::int64_t n) : tensor_(at::empty({n}, at::kFloat)) {}
  float* data() const { return tensor_.mutable_data_ptr<float>(); }
  std::int64_t size() const { return tensor_.numel(); }

 private:
  at::Tensor tensor_;
};
Numbers widened(const void* at, std::int64_t n) {
  Numbers out(n);
  kernels::from_bf16(n, static_cast<const std::uint16_t*>(shadow(at)), out.data());
  return out;
}
void put(const Numbers& from, void* at) {
  kernels::to_bf16(from.size(), from.data(), static_cast<std::uint16_t*>(shadow(at)));
}
// That core has brought the room that was asked for: all of it is written to.
void use_room(void* room) { std::fill_n(static_cast<unsigned char*>(shadow(room)), kProductRoom, 0xff); }

bool product_forward(Activation f, DType type, std::int64_t rows, std::int64_t n, std::int64_t k,
                     const void* x, const void* weight, const void* bias, void* z, void* y, void* room,
                     Stream /*stream*/) {
  if (!takes_product(f, type) || !sizes_fit(n, k)) return false;
  launched("activated_product.forward");
  use_room(room);
  const auto left = widened(x, rows * k), right = widened(weight, n * k);
  const Numbers sums(rows * n);
  kernels::matmul(rows, n, k, {left.data(), k}, {right.data(), k, true}, sums.data(), n);
  if (bias != nullptr) kernels::add_bias(rows, n, widened(bias, n).data(), sums.data());
  put(sums, z);
  kernels::activate(f, rows * n, sums.data(), sums.data());
  put(sums, y);
  return true;
}

bool product_backward(Activation f, DType type, std::int64_t rows, std::int64_t n, std::int64_t m,
                      const void* dy, const void* weight, const void* z, void* dz, void* room,
                      Stream /*stream*/) {
  if (!takes_product(f, type) || !sizes_fit(n, m)) return false;
  launched("activated_product.backward");
  use_room(room);
  const auto left = widened(dy, rows * m), right = widened(weight, m * n), in = widened(z, rows * n);
  const Numbers sums(rows * n);
  kernels::matmul(rows, n, m, {left.data(), m}, {right.data(), n}, sums.data(), n);
  kernels::activate_backward(f, rows * n, in.data(), sums.data(), sums.data());
  put(sums, dz);
  return true;
}

}  // namespace

core::DeviceKernels::ActivatedProduct activated_products() {
  return {takes_product, Noted<product_forward>::call, Noted<product_backward>::call, kProductRoom};
}

}  // namespace bora::fake_device
