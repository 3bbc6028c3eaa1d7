// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "matrix_library.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace bora::cuda {
namespace {

template <class F>
bool find(void* file, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(file, name));
  return function != nullptr;
}

std::optional<MatrixLibrary> functions_of(void* file) {
  MatrixLibrary m;
  const bool all = file != nullptr && find(file, "cublasLtCreate", m.create) &&
                   find(file, "cublasLtMatmulDescCreate", m.create_product) &&
                   find(file, "cublasLtMatmulDescDestroy", m.destroy_product) &&
                   find(file, "cublasLtMatmulDescSetAttribute", m.set_of_product) &&
                   find(file, "cublasLtMatrixLayoutCreate", m.create_layout) &&
                   find(file, "cublasLtMatrixLayoutDestroy", m.destroy_layout) &&
                   find(file, "cublasLtMatmulPreferenceCreate", m.create_preference) &&
                   find(file, "cublasLtMatmulPreferenceDestroy", m.destroy_preference) &&
                   find(file, "cublasLtMatmulPreferenceSetAttribute", m.set_of_preference) &&
                   find(file, "cublasLtMatmulAlgoGetHeuristic", m.find_ways) &&
                   find(file, "cublasLtMatmul", m.multiply);
  return all ? std::optional(m) : std::nullopt;
}

const MatrixLibrary* opened(const std::string& file, int mode) {
  static std::mutex mutex;
  static std::map<std::string, std::optional<MatrixLibrary>> known;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(file);
  if (is_new) at->second = functions_of(::dlopen(file.c_str(), mode));
  return at->second ? &*at->second : nullptr;
}

}  // namespace

const MatrixLibrary* matrix_library(const char* file) { return opened(file, RTLD_NOW | RTLD_LOCAL); }

const MatrixLibrary* loaded_matrix_library() {
  return opened("libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR), RTLD_NOW | RTLD_NOLOAD);
}

}  // namespace bora::cuda
