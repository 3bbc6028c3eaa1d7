// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/gguf_reader.h"

#include <fmt/core.h>

#include <cstring>

#include "bora/base/error.h"
#include "bora/base/lfs_pointer.h"
#include "bora/base/map_guard.h"
#include "bora/base/text.h"
#include "bora/checkpoint/convert.h"

namespace bora::checkpoint {
namespace {

constexpr std::size_t kBlockSize = 32, kBlockBytes = kBlockSize + 2;

void unpack_q8_0(std::span<const std::byte> bytes, std::span<float> out) {
  for (std::size_t i = 0; i < out.size() / kBlockSize; ++i) {
    const auto* block = bytes.data() + i * kBlockBytes;
    std::uint16_t half;
    std::memcpy(&half, block, sizeof half);
    const float scale = half_to_float(half);
    for (std::size_t j = 0; j < kBlockSize; ++j)
      out[i * kBlockSize + j] = static_cast<float>(static_cast<std::int8_t>(block[sizeof half + j])) * scale;
  }
}

}  // namespace

GgufFile::GgufFile(const std::string& path) : path_(path), file_(files().open(path)) {
  refuse_lfs_pointer(path);
  all_ = file_->map();
  header_ = parse_gguf_header(all_, path);
  file_->refuse_shorter();
  for (const auto& t : header_.tensors) by_name_.emplace(t.name, &t);
}

const Json* GgufFile::value(std::string_view key) const {
  const auto found = header_.metadata.find(key);
  return found == header_.metadata.end() ? nullptr : &found->second;
}

std::vector<std::string> GgufFile::names() const {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : by_name_) out.emplace_back(name);
  return out;
}

std::optional<StoredTensorInfo> GgufFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return StoredTensorInfo{found->second->shape, std::string(checkpoint::name(found->second->type)), path_};
}

const GgufStoredTensor& GgufFile::at(std::string_view name) const {
  if (const auto found = by_name_.find(name); found != by_name_.end()) return *found->second;
  fail(ErrorKind::NotFound, "{}: no tensor {}{}", path_, name, did_you_mean(name, names()));
}

std::span<const std::byte> GgufFile::bytes(const GgufStoredTensor& tensor) const {
  return all_.subspan(header_.data + tensor.begin, tensor.end - tensor.begin);
}

void GgufFile::read_floats(std::string_view name, std::span<float> out) const {
  const auto& tensor = at(name);
  const auto who = fmt::format("{}: tensor {}", path_, name);
  std::size_t elements = 1;
  for (const auto size : tensor.shape) elements *= static_cast<std::size_t>(size);
  if (elements != out.size())
    fail(ErrorKind::InvalidArgument, "{} has {} elements, but there is room for {}", who, elements,
         out.size());
  if (tensor.type == GgufStored::q8_0) {
    read_mapped([&] { unpack_q8_0(bytes(tensor), out); });
  } else {
    const auto dtype = tensor.type == GgufStored::f32   ? core::DType::f32
                       : tensor.type == GgufStored::f16 ? core::DType::f16
                                                        : core::DType::bf16;
    mapped_to_floats(dtype, bytes(tensor), out, who);
  }
  file_->refuse_shorter();
}

void GgufFile::forget(std::string_view name) const { file_->forget(bytes(at(name))); }

}  // namespace bora::checkpoint
