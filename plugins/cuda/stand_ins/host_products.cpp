// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "host_products.h"

#include <cuda_runtime_api.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

// The current device, of two.
namespace {
int current_device = 0;
}  // namespace
extern "C" cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
extern "C" cudaError_t cudaSetDevice(int device) {
  current_device = device;
  return cudaSuccess;
}

namespace bora::cuda {
namespace {

using Bits = std::uint16_t;
float value(Bits x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16); }
Bits rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<Bits>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

struct HostProduct {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  std::map<int, std::vector<char>> set;
  template <class T>
  T at(int name, T otherwise) const {
    const auto found = set.find(name);
    if (found == set.end() || found->second.size() != sizeof(T)) return otherwise;
    T out;
    std::memcpy(&out, found->second.data(), sizeof(T));
    return out;
  }
};
struct HostLayout {
  cudaDataType type;
  std::int64_t rows, columns, stride;
};
struct HostPreference {
  std::map<int, std::vector<char>> set;
};

cublasStatus_t refused(const char* why) {
  said() = why;
  return CUBLAS_STATUS_INVALID_VALUE;
}

std::vector<char> bytes_of(const void* value, std::size_t n) {
  const char* begin = static_cast<const char*>(value);
  return {begin, begin + n};
}

constexpr double kTwoOverPi = 0.7978845608028654;
double inner(double z) { return kTwoOverPi * (z + 0.044715 * z * z * z); }
double gelu(double z) { return 0.5 * z * (1 + std::tanh(inner(z))); }
double slope(double z) {
  const double t = std::tanh(inner(z));
  return 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * kTwoOverPi * (1 + 3 * 0.044715 * z * z);
}

// By columns, as the library has all matrices.
struct Matrix {
  const Bits* at;
  std::int64_t stride;
  float operator()(std::int64_t row, std::int64_t column) const { return value(at[column * stride + row]); }
};

cublasStatus_t compute(const HostProduct& p, const Bits* a, const HostLayout& la, const Bits* b,
                       const HostLayout& lb, Bits* d, const HostLayout& ld) {
  const bool turned = p.at<cublasOperation_t>(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N) == CUBLAS_OP_T;
  const auto m = turned ? la.columns : la.rows, k = turned ? la.rows : la.columns, n = lb.columns;
  if (p.at<cublasOperation_t>(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N) != CUBLAS_OP_N || lb.rows != k)
    return refused("sizes of the factors");
  if (ld.rows != m || ld.columns != n) return refused("sizes of the result");
  for (const auto& l : {la, lb, ld})
    if (l.type != CUDA_R_16BF || l.stride < l.rows) return refused("a layout");
  const auto aux_stride = p.at<std::int64_t>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 0);
  if (aux_stride < m || aux_stride % 8 != 0) return refused("the stride of the auxiliary matrix");
  auto* const aux = p.at<Bits*>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, nullptr);
  const auto* const bias = p.at<const Bits*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr);
  const auto epilogue = p.at<cublasLtEpilogue_t>(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  if (aux == nullptr) return refused("no auxiliary matrix");
  if ((bias != nullptr) != (epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS)) return refused("a bias");
  const Matrix left{a, la.stride}, right{b, lb.stride};
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += static_cast<double>(turned ? left(l, i) : left(i, l)) * static_cast<double>(right(l, j));
      if (bias != nullptr) sum += static_cast<double>(value(bias[i]));  // one for each row of the result
      Bits& z = aux[j * aux_stride + i];
      switch (epilogue) {
        case CUBLASLT_EPILOGUE_GELU_AUX:
        case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
          z = rounded(static_cast<float>(sum));
          d[j * ld.stride + i] = rounded(static_cast<float>(gelu(sum)));
          break;
        case CUBLASLT_EPILOGUE_DGELU:
          d[j * ld.stride + i] = rounded(static_cast<float>(sum * slope(static_cast<double>(value(z)))));
          break;
        default:
          return refused("another epilogue");
      }
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

template <class To, class From>
To* as(From* x) {
  return reinterpret_cast<To*>(x);
}

}  // namespace

std::string& said() {
  static std::string text;
  return text;
}
int& times_asked() {
  static int times = 0;
  return times;
}
bool& has_ways() {
  static bool has = true;
  return has;
}
int& status_of_starts() {
  static int status = 0;
  return status;
}

const MatrixLibrary& host_matrix_library() {
  static const MatrixLibrary library{
      .create =
          [](cublasLtHandle_t* out) {
            static int handle = 0;
            *out = as<std::remove_pointer_t<cublasLtHandle_t>>(&handle);
            return CUBLAS_STATUS_SUCCESS;
          },
      .create_product =
          [](cublasLtMatmulDesc_t* out, cublasComputeType_t compute, cudaDataType_t scale) {
            *out = as<std::remove_pointer_t<cublasLtMatmulDesc_t>>(new HostProduct{compute, scale, {}});
            return CUBLAS_STATUS_SUCCESS;
          },
      .destroy_product =
          [](cublasLtMatmulDesc_t made) {
            delete as<HostProduct>(made);
            return CUBLAS_STATUS_SUCCESS;
          },
      .set_of_product =
          [](cublasLtMatmulDesc_t of, cublasLtMatmulDescAttributes_t name, const void* value,
             std::size_t bytes) {
            as<HostProduct>(of)->set[name] = bytes_of(value, bytes);
            return CUBLAS_STATUS_SUCCESS;
          },
      .create_layout =
          [](cublasLtMatrixLayout_t* out, cudaDataType type, std::uint64_t rows, std::uint64_t columns,
             std::int64_t stride) {
            *out = as<std::remove_pointer_t<cublasLtMatrixLayout_t>>(new HostLayout{
                type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), stride});
            return CUBLAS_STATUS_SUCCESS;
          },
      .destroy_layout =
          [](cublasLtMatrixLayout_t made) {
            delete as<HostLayout>(made);
            return CUBLAS_STATUS_SUCCESS;
          },
      .create_preference =
          [](cublasLtMatmulPreference_t* out) {
            *out = as<std::remove_pointer_t<cublasLtMatmulPreference_t>>(new HostPreference);
            return CUBLAS_STATUS_SUCCESS;
          },
      .destroy_preference =
          [](cublasLtMatmulPreference_t made) {
            delete as<HostPreference>(made);
            return CUBLAS_STATUS_SUCCESS;
          },
      .set_of_preference =
          [](cublasLtMatmulPreference_t of, cublasLtMatmulPreferenceAttributes_t name, const void* value,
             std::size_t bytes) {
            as<HostPreference>(of)->set[name] = bytes_of(value, bytes);
            return CUBLAS_STATUS_SUCCESS;
          },
      .find_ways =
          [](cublasLtHandle_t, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
             cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t wished, int,
             cublasLtMatmulHeuristicResult_t* found, int* count) {
            ++times_asked();
            for (const int name :
                 {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER}) {
              const auto place = as<HostProduct>(product)->at<std::uintptr_t>(name, 16);
              if (place % 32 != 16) return refused("a way for addresses that lie better than others may");
            }
            for (const int name :
                 {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES})
              if (!as<HostPreference>(wished)->set.contains(name)) return refused("a preference is missing");
            *count = has_ways() ? 1 : 0;
            *found = {};
            return has_ways() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
          },
      .multiply =
          [](cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
             cublasLtMatrixLayout_t la, const void* b, cublasLtMatrixLayout_t lb, const void* beta,
             const void*, cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t ld,
             const cublasLtMatmulAlgo_t*, void*, std::size_t, cudaStream_t) {
            if (status_of_starts() != 0) return static_cast<cublasStatus_t>(status_of_starts());
            const auto& p = *as<HostProduct>(product);
            if (p.compute != CUBLAS_COMPUTE_32F || p.scale != CUDA_R_32F)
              return refused("computed in another type");
            if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0)
              return refused("factors");
            return compute(p, static_cast<const Bits*>(a), *as<HostLayout>(la), static_cast<const Bits*>(b),
                           *as<HostLayout>(lb), static_cast<Bits*>(d), *as<HostLayout>(ld));
          }};
  return library;
}

}  // namespace bora::cuda
