// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/checkpoint/safetensors.h"

namespace bora::checkpoint {

/// A safetensors model whose tensors in MXFP4 (OCP Microscaling Formats 1.0: blocks of 32 numbers of four bits,
/// which share a power of two) are read as floats, like all others. Two tensors of type U8 make one of type
/// "MXFP4":
///
///   NAME_blocks [place, row, group, 16]   two numbers a byte, the first in the low bits
///   NAME_scales [place, row, group]       exponent of the power of two, plus 127
///   NAME [place, 32 · group, row]         what is read: each place transposed
class Mxfp4Model : public StoredTensors {
 public:
  /// Errors: those of SafetensorsModel; Corruption for blocks without scales of the same shape.
  explicit Mxfp4Model(const std::string& path);

  std::vector<std::string> names() const override;
  std::optional<StoredTensorInfo> find(std::string_view name) const override;
  /// Also Corruption for a scale of 255, which is no number, and for numbers beyond fp32.
  void read_floats(std::string_view name, std::span<float> out) const override;
  void forget(std::string_view name) const override;

 private:
  void add(const std::string& name);
  SafetensorsModel stored_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> packed_;  // shape of the blocks, by NAME
};

}  // namespace bora::checkpoint
