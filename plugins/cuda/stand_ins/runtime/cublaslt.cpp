// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// cuBLASLt: descriptions of no content, and one way to compute each product.
#include <cublasLt.h>

extern "C" int stand_in_give(const char* kernel, void* stream);

namespace {

template <class T>
cublasStatus_t make(T* out) {
  *out = reinterpret_cast<T>(new char);
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t destroy(T made) {
  delete reinterpret_cast<char*>(made);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
extern "C" {

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return make(handle); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy(handle); }
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* out, cublasComputeType_t /*compute*/,
                                        cudaDataType_t /*scale*/) {
  return make(out);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t made) { return destroy(made); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t /*of*/,
                                              cublasLtMatmulDescAttributes_t /*name*/, const void* /*value*/,
                                              size_t /*bytes*/) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* out) { return make(out); }
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t made) { return destroy(made); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t /*of*/,
                                                    cublasLtMatmulPreferenceAttributes_t /*name*/,
                                                    const void* /*value*/, size_t /*bytes*/) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* out, cudaDataType /*type*/,
                                          uint64_t /*rows*/, uint64_t /*columns*/, int64_t /*stride*/) {
  return make(out);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t made) { return destroy(made); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t /*of*/,
                                                cublasLtMatrixLayoutAttribute_t /*name*/,
                                                const void* /*value*/, size_t /*bytes*/) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t /*product*/,
                                              cublasLtMatrixLayout_t /*a*/, cublasLtMatrixLayout_t /*b*/,
                                              cublasLtMatrixLayout_t /*c*/, cublasLtMatrixLayout_t /*d*/,
                                              cublasLtMatmulPreference_t /*preference*/, int /*wanted*/,
                                              cublasLtMatmulHeuristicResult_t* out, int* count) {
  *out = {};
  out->state = CUBLAS_STATUS_SUCCESS;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t /*product*/,
                              const void* /*alpha*/, const void* /*a*/, cublasLtMatrixLayout_t /*a_layout*/,
                              const void* /*b*/, cublasLtMatrixLayout_t /*b_layout*/, const void* /*beta*/,
                              const void* /*c*/, cublasLtMatrixLayout_t /*c_layout*/, void* /*d*/,
                              cublasLtMatrixLayout_t /*d_layout*/, const cublasLtMatmulAlgo_t* /*way*/,
                              void* /*room*/, size_t /*bytes*/, cudaStream_t stream) {
  return stand_in_give("cublasLtMatmul", stream) == 0 ? CUBLAS_STATUS_SUCCESS
                                                      : CUBLAS_STATUS_EXECUTION_FAILED;
}
}
// NOLINTEND(readability-identifier-naming)
