// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cublasLt.h>

namespace bora::cuda {

/// The functions of cuBLASLt that products are asked for by.
struct MatrixLibrary {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_product = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_product = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_of_product = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_of_preference = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) find_ways = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;
};

/// Of this file, which is loaded if it is not yet; null where it is not there, or lacks one of them.
const MatrixLibrary* matrix_library(const char* file);
/// The one that libtorch has loaded.
const MatrixLibrary* loaded_matrix_library();

}  // namespace bora::cuda
