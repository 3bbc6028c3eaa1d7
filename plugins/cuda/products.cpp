// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "products.h"

#include <cuda_runtime_api.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace bora::cuda {
namespace {

constexpr std::uint32_t kAlignment = 16;  // of all addresses
constexpr std::int64_t kPack = 8;  // elements of which sizes are multiples: an auxiliary matrix must be
constexpr std::int64_t kFewestRows = 64;  // below, rows differ from call to call, and little is won

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string("cuBLASLt: ") + what + " ended with status " +
                             std::to_string(status));
}

template <class T, class Destroy>
using Held = std::unique_ptr<std::remove_pointer_t<T>, Destroy>;
using Product = Held<cublasLtMatmulDesc_t, decltype(MatrixLibrary::destroy_product)>;
using Layout = Held<cublasLtMatrixLayout_t, decltype(MatrixLibrary::destroy_layout)>;
using Preference = Held<cublasLtMatmulPreference_t, decltype(MatrixLibrary::destroy_preference)>;

// D = A · B, matrices of columns: d [rows, columns], A turned or not.
struct Asked {
  cublasLtEpilogue_t epilogue;
  bool turned;  // A is stored [inner, rows]
  std::int64_t rows, columns, inner;
  const void *a, *b, *bias, *aux;
  void* d;
};
Asked asked(const ActivatedForward& p) {
  return {.epilogue = p.bias == nullptr ? CUBLASLT_EPILOGUE_GELU_AUX : CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
          .turned = true,
          .rows = p.n,
          .columns = p.rows,
          .inner = p.k,
          .a = p.weight,
          .b = p.x,
          .bias = p.bias,
          .aux = p.z,
          .d = p.y};
}
Asked asked(const ActivatedBackward& p) {
  return {.epilogue = CUBLASLT_EPILOGUE_DGELU,
          .turned = false,
          .rows = p.n,
          .columns = p.rows,
          .inner = p.m,
          .a = p.weight,
          .b = p.dy,
          .bias = nullptr,
          .aux = p.z,
          .d = p.dz};
}

bool lie_well(const Asked& p, const void* room) {
  std::uintptr_t all = 0;
  for (const void* x : {p.a, p.b, p.bias, p.aux, static_cast<const void*>(p.d), room})
    all |= reinterpret_cast<std::uintptr_t>(x);
  return all % kAlignment == 0;
}
bool has_such_sizes(const Asked& p) {
  return p.rows % kPack == 0 && p.inner % kPack == 0 && p.rows > 0 && p.inner > 0 && p.columns >= kFewestRows;
}

class Description {
 public:
  Description(const MatrixLibrary& m, const Asked& p)
      : library_(m),
        product_(make_product(m)),
        a_(p.turned ? layout(m, p.inner, p.rows) : layout(m, p.rows, p.inner)),
        b_(layout(m, p.inner, p.columns)),
        d_(layout(m, p.rows, p.columns)) {
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.turned ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, p.epilogue);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p.aux);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.rows);
    if (p.bias == nullptr) return;
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_16BF);
  }

  std::optional<cublasLtMatmulAlgo_t> way(cublasLtHandle_t handle) const {
    const Preference wished = preference();
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const auto status = library_.find_ways(handle, product_.get(), a_.get(), b_.get(), d_.get(), d_.get(),
                                           wished.get(), 1, &found, &count);
    const bool there = status == CUBLAS_STATUS_SUCCESS && count > 0 && found.state == CUBLAS_STATUS_SUCCESS;
    return there ? std::optional(found.algo) : std::nullopt;
  }

  // False: refused, after all, and nothing is done.
  bool start(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& way, const Asked& p, void* room,
             cudaStream_t stream) const {
    const float one = 1, none = 0;
    const auto status = library_.multiply(handle, product_.get(), &one, p.a, a_.get(), p.b, b_.get(), &none,
                                          p.d, d_.get(), p.d, d_.get(), &way, room, kProductRoom, stream);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return false;
    check(status, "cublasLtMatmul");
    return true;
  }

 private:
  static Product make_product(const MatrixLibrary& m) {
    cublasLtMatmulDesc_t made = nullptr;
    check(m.create_product(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    return {made, m.destroy_product};
  }
  static Layout layout(const MatrixLibrary& m, std::int64_t rows, std::int64_t columns) {
    cublasLtMatrixLayout_t made = nullptr;
    check(m.create_layout(&made, CUDA_R_16BF, static_cast<std::uint64_t>(rows),
                          static_cast<std::uint64_t>(columns), rows),
          "cublasLtMatrixLayoutCreate");
    return {made, m.destroy_layout};
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t name, const T& value) {
    check(library_.set_of_product(product_.get(), name, &value, sizeof(value)),
          "cublasLtMatmulDescSetAttribute");
  }
  template <class T>
  void wish(const Preference& of, cublasLtMatmulPreferenceAttributes_t name, const T& value) const {
    check(library_.set_of_preference(of.get(), name, &value, sizeof(value)),
          "cublasLtMatmulPreferenceSetAttribute");
  }
  // No sums in parts that are put together afterwards: one order, whatever the room.
  Preference preference() const {
    cublasLtMatmulPreference_t made = nullptr;
    check(library_.create_preference(&made), "cublasLtMatmulPreferenceCreate");
    Preference out(made, library_.destroy_preference);
    wish(out, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(kProductRoom));
    wish(out, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_NONE));
    for (const auto of :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      wish(out, of, kAlignment);
    return out;
  }

  const MatrixLibrary& library_;
  Product product_;
  Layout a_, b_, d_;
};

using Sizes = std::array<std::int64_t, 4>;
Sizes sizes_of(const Asked& p) { return {p.epilogue, p.rows, p.columns, p.inner}; }

// What the library has said for one device: the same sizes are computed in the same way ever after.
struct Ways {
  cublasLtHandle_t handle = nullptr;
  std::map<Sizes, std::optional<cublasLtMatmulAlgo_t>> known;
};
constexpr std::size_t kMostWays = 4096;

// The library reads from addresses how they are aligned, and a way serves all calls of its sizes: it is asked for with
// none that lies better than each must.
Asked lying_as_each_must(Asked p) {
  alignas(2 * kAlignment) static const char place[2 * kAlignment] = {};
  p.aux = place + kAlignment;
  if (p.bias != nullptr) p.bias = p.aux;
  return p;
}

std::mutex ways_mutex;
// Of the current device; the mutex is held.
Ways& ways_of(const MatrixLibrary& library) {
  static std::map<std::pair<const MatrixLibrary*, int>, Ways> of_devices;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) throw std::runtime_error("CUDA: no current device");
  return of_devices[{&library, device}];
}

struct Way {
  cublasLtHandle_t handle;
  std::optional<cublasLtMatmulAlgo_t> algorithm;
};
Way way_of(const MatrixLibrary& library, const Asked& p) {
  const std::lock_guard lock(ways_mutex);
  Ways& ways = ways_of(library);
  if (ways.handle == nullptr) check(library.create(&ways.handle), "cublasLtCreate");
  if (ways.known.size() == kMostWays) ways.known.clear();
  const Sizes sizes = sizes_of(p);
  auto at = ways.known.find(sizes);
  if (at == ways.known.end()) {
    const auto way = Description(library, lying_as_each_must(p)).way(ways.handle);
    at = ways.known.emplace(sizes, way).first;
  }
  return {ways.handle, at->second};
}

// There is none, after all.
void forget_way(const MatrixLibrary& library, const Asked& p) {
  const std::lock_guard lock(ways_mutex);
  ways_of(library).known[sizes_of(p)] = std::nullopt;
}

bool start(const MatrixLibrary& library, const Asked& p, void* room, cudaStream_t stream) {
  if (!has_such_sizes(p) || !lie_well(p, room)) return false;
  const auto [handle, way] = way_of(library, p);
  if (!way) return false;
  if (Description(library, p).start(handle, *way, p, room, stream)) return true;
  forget_way(library, p);
  return false;
}

}  // namespace

bool activated(const MatrixLibrary& library, const ActivatedForward& product, void* room,
               cudaStream_t stream) {
  return start(library, asked(product), room, stream);
}
bool activated(const MatrixLibrary& library, const ActivatedBackward& product, void* room,
               cudaStream_t stream) {
  return start(library, asked(product), room, stream);
}

}  // namespace bora::cuda
