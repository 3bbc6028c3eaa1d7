// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// For the test of scripts/cuda_spills.sh: a kernel whose numbers do not fit into its registers.
__global__ void __launch_bounds__(1024, 2) too_many(const float* x, float* y) {
  float v[64];
  for (int i = 0; i < 64; ++i) v[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
  for (int i = 0; i < 64; ++i) {
    float sum = 0;
    for (int j = 0; j < 64; ++j) sum += v[j] * x[i * j];
    y[i * 1024 + threadIdx.x] = sum;
  }
}
