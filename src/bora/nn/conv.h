// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "bora/named/fields.h"
#include "bora/named/ops.h"
#include "bora/nn/init.h"

namespace bora::nn {

namespace detail {
struct ConvPlace : axis<"conv_place"> {};
/// x with so many zeros before and after, along an axis.
core::Array zero_padded(const core::Operand& x, std::string_view axis, std::int64_t zeros);
/// Where each place of the result reads: place · stride + tap, row-major [place, tap]. InvalidArgument where
/// the padded input is shorter than the kernel.
std::vector<std::int32_t> conv_reads(std::int64_t padded, std::int64_t taps, std::int64_t stride);
}  // namespace detail

/// One-dimensional convolution (cross-correlation, as PyTorch's Conv1d) along Pos, from the axis In to Out:
///
///     y[p, out] = bias[out] + sum over in, tap of weight[out, in, tap] · x[p · stride + tap - padding, in]
///
/// with zeros outside of x; (size + 2 · padding - taps) / stride + 1 places, which have the name Pos too. The
/// other axes of x are kept. One gather and one matrix product. Weight [Out, In, Tap] as on disk.
template <Axis In, Axis Out, Axis Pos, Axis Tap>
struct Conv1d {
  static constexpr std::string_view kind = "Conv1d";
  Named<Out, In, Tap> weight;
  Named<Out> bias;
  std::int64_t stride = 1, padding = 0;
  using fields = Fields<&Conv1d::weight, &Conv1d::bias, &Conv1d::stride, &Conv1d::padding>;

  /// Normal weights of standard deviation `std`, zero bias.
  static Conv1d init(Dim<In> in, Dim<Out> out, Dim<Tap> taps, Key key, double std, std::int64_t stride,
                     std::int64_t padding) {
    return {normal_parameter(key, std, SizesOf<Axes<Out, In, Tap>>{out, in, taps}),
            zeros_parameter(SizesOf<Axes<Out>>{out}), stride, padding};
  }

  template <NamedTensor X>
    requires(HasAxes<X, In, Pos> && LacksAxes<X, Out, Tap>)
  auto operator()(const X& x) const {
    using Place = detail::ConvPlace;
    const auto taps = weight.template size<Tap>();
    const X padded = X::adopt(detail::zero_padded(x.operand(), Pos::name, padding));
    const auto reads = detail::conv_reads(padded.template size<Pos>(), taps, stride);
    const auto places = std::ssize(reads) / taps;
    const auto seen = take<Pos>(padded, indices_from_vector(reads, Dim<Place>{places}, Dim<Tap>{taps}));
    using Result = concat<renamed<without<axes_of<X>, Axes<In>>, Pos, Place>, Axes<Out>>;
    return rename<Place, Pos>(named_over<Result>::adopt(
        core::linear(seen.operand(), weight.operand(), bias.array(), Result::names)));
  }
};

}  // namespace bora::nn
