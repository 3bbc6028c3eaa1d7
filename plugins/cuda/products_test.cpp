// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "products.h"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "stand_ins/host_products.h"

namespace bora::cuda {
namespace {

constexpr std::int64_t kRows = 64, kN = 24, kInner = 16;

float value(std::uint16_t x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16); }

// Elements in bf16 at an address that vectors may be read from.
struct Halves {
  explicit Halves(std::int64_t n, int seed = 0) : bits(static_cast<std::size_t>(n) + 8) {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const double x = std::sin(0.7 * static_cast<double>(i) + seed);
      bits[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16);
    }
  }
  std::uint16_t* at() {
    const auto place = reinterpret_cast<std::uintptr_t>(bits.data());
    return bits.data() + (16 - place % 16) % 16 / 2;
  }
  double operator()(std::int64_t i) { return static_cast<double>(value(at()[i])); }
  std::vector<std::uint16_t> bits;
};

double gelu(double z) { return 0.5 * z * (1 + std::tanh(0.7978845608 * (z + 0.044715 * z * z * z))); }
double slope(double z) { return (gelu(z + 1e-5) - gelu(z - 1e-5)) / 2e-5; }

struct Case {
  Halves x{kRows * kInner, 1}, weight{kN * kInner, 2}, bias{kN, 3}, z{kRows * kN}, y{kRows * kN};
  ActivatedForward forward(bool with_bias = true) {
    return {kRows, kN, kInner, x.at(), weight.at(), with_bias ? bias.at() : nullptr, z.at(), y.at()};
  }
  Halves dy{kRows * kInner, 4}, second{kInner * kN, 5}, dz{kRows * kN};
  ActivatedBackward backward() { return {kRows, kN, kInner, dy.at(), second.at(), z.at(), dz.at()}; }
};

class Products : public testing::Test {
 protected:
  void SetUp() override {
    said().clear();
    times_asked() = 0;
    has_ways() = true;
    status_of_starts() = 0;
    cudaSetDevice(0);
  }
  const MatrixLibrary& library = host_matrix_library();
};

TEST_F(Products, HaveTheActivationOfEachRow) {
  for (const bool with_bias : {true, false}) {
    Case c;
    ASSERT_TRUE(activated(library, c.forward(with_bias), nullptr, nullptr)) << said();
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t j = 0; j < kN; ++j) {
        double z = with_bias ? c.bias(j) : 0;
        for (std::int64_t l = 0; l < kInner; ++l) z += c.x(row * kInner + l) * c.weight(j * kInner + l);
        EXPECT_NEAR(c.z(row * kN + j), z, 0.005 * std::abs(z) + 1e-6);
        EXPECT_NEAR(c.y(row * kN + j), gelu(z), 0.005 * std::abs(gelu(z)) + 1e-6);
      }
    }
  }
}

TEST_F(Products, HaveTheSlopeOfEachRow) {
  Case c;
  ASSERT_TRUE(activated(library, c.forward(), nullptr, nullptr)) << said();
  ASSERT_TRUE(activated(library, c.backward(), nullptr, nullptr)) << said();
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t j = 0; j < kN; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < kInner; ++l) sum += c.dy(row * kInner + l) * c.second(l * kN + j);
      const double expected = sum * slope(c.z(row * kN + j));
      EXPECT_NEAR(c.dz(row * kN + j), expected, 0.005 * std::abs(expected) + 1e-5);
    }
  }
}

TEST_F(Products, AreAskedForOnceForEachSizeAndDevice) {
  Case c;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(activated(library, c.forward(), nullptr, nullptr));
  const int before = times_asked();
  EXPECT_LE(before, 1) << "by an earlier test, or now";
  auto fewer = c.forward();
  fewer.k = 8;
  ASSERT_TRUE(activated(library, fewer, nullptr, nullptr));
  EXPECT_EQ(times_asked(), before + 1);
  cudaSetDevice(1);
  ASSERT_TRUE(activated(library, c.forward(), nullptr, nullptr));
  EXPECT_EQ(times_asked(), before + 2);
}

TEST_F(Products, AreNotThereForOddSizesAndAddresses) {
  Case c;
  const auto before = c.y.bits;
  const auto refuses = [&](auto product, const void* room = nullptr) {
    return !activated(library, product, const_cast<void*>(room), nullptr);
  };
  auto odd = c.forward();
  odd.n = 20;
  EXPECT_TRUE(refuses(odd));
  odd = c.forward();
  odd.k = 12;
  EXPECT_TRUE(refuses(odd));
  odd = c.forward();
  odd.k = 0;
  EXPECT_TRUE(refuses(odd));
  odd = c.forward();
  odd.rows = 63;
  EXPECT_TRUE(refuses(odd)) << "few rows";
  odd = c.forward();
  odd.bias = c.bias.at() + 1;
  EXPECT_TRUE(refuses(odd));
  odd = c.forward();
  odd.x = c.x.at() + 4;
  EXPECT_TRUE(refuses(odd));
  EXPECT_TRUE(refuses(c.forward(), c.x.at() + 1));
  EXPECT_EQ(times_asked(), 0);
  EXPECT_EQ(c.y.bits, before) << "nothing is done";
}

TEST_F(Products, AreNotThereWhereTheLibraryHasNoWay) {
  Case c;
  has_ways() = false;
  auto other = c.forward();
  other.k = 8;
  other.n = 16;
  EXPECT_FALSE(activated(library, other, nullptr, nullptr));
  has_ways() = true;
  EXPECT_FALSE(activated(library, other, nullptr, nullptr)) << "as it was";
  EXPECT_EQ(times_asked(), 1);
}

TEST_F(Products, AreNotThereWhereTheLibraryRefusesTheirStart) {
  Case c;
  auto other = c.forward();
  other.n = 8;
  const auto before = c.y.bits;
  status_of_starts() = CUBLAS_STATUS_NOT_SUPPORTED;
  EXPECT_FALSE(activated(library, other, nullptr, nullptr));
  status_of_starts() = 0;
  EXPECT_FALSE(activated(library, other, nullptr, nullptr))
      << "nor any that follow: one way for all of a size";
  EXPECT_EQ(times_asked(), 1);
  EXPECT_EQ(c.y.bits, before);

  auto no_aux = c.backward();
  no_aux.z = nullptr;
  EXPECT_FALSE(activated(library, no_aux, nullptr, nullptr));
  EXPECT_EQ(said(), "no auxiliary matrix");
}

TEST_F(Products, SayWhatElseTheLibrarySays) {
  Case c;
  status_of_starts() = CUBLAS_STATUS_EXECUTION_FAILED;
  try {
    activated(library, c.forward(), nullptr, nullptr);
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_EQ(std::string(e.what()), "cuBLASLt: cublasLtMatmul ended with status 13");
  }
}

}  // namespace
}  // namespace bora::cuda
