// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/gguf_export.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/run/adapters.h"
#include "bora/run/gguf_families.h"
#include "bora/run/models.h"
#include "bora/run/no_export.h"

namespace bora::run {
namespace {

using checkpoint::GgufContent;
using checkpoint::GgufTensor;
using checkpoint::GgufType;

// Hugging Face's name, without the number of an expert.
std::string gguf_name(const GgufFamily& family, std::string name) {
  constexpr std::string_view kExperts = ".experts.";
  if (const auto at = name.find(kExperts); at != name.npos) {
    const auto number = at + kExperts.size(), end = name.find('.', number);
    if (end != name.npos && parse_int(name.substr(number, end - number)))
      name.erase(number, end + 1 - number);
  }
  for (const auto& [from, to] : family.names)
    if (const auto at = name.find(from); at != name.npos) name.replace(at, from.size(), to);
  return name;
}

bool is_norm(const std::string& name) { return name.find("norm") != name.npos; }
// Small, and their errors choose among experts.
bool is_router(const std::string& name) { return name.find("ffn_gate_inp") != name.npos; }

class Export {
 public:
  Export(nn::LanguageModel& model, GgufType type)
      : config_(model.hf_config()),
        family_(gguf_family(config_.value("model_type", ""))),
        type_(type),
        parameters_(hf_parameters(model)),
        values_(merged_values(model)) {}

  GgufContent content(const Tokenizer& tokenizer, const Json& generation) {
    if (const auto why = why_no_export(config_); !why.empty()) fail(ErrorKind::Unsupported, "GGUF: {}", why);
    if (family_ == nullptr)
      refuse_gguf(fmt::format("models of type {} are not written; {} are", config_.value("model_type", ""),
                              gguf_family_names()));
    GgufDraft out{std::string(family_->architecture)};
    out.put("general.architecture", out.architecture);
    out.put("general.name", std::string(family_->type));
    out.put("general.file_type", type_ == GgufType::f32 ? 0U : type_ == GgufType::q8_0 ? 7U : 32U);
    if (type_ == GgufType::q8_0) out.put("general.quantization_version", 2U);
    family_->describe(config_, out);
    for (auto& pair : gguf_tokenizer(tokenizer, generation, config_.at("vocab_size").get<std::int64_t>()))
      out.content.metadata.push_back(std::move(pair));
    add_tensors(out.content.tensors);
    return std::move(out.content);
  }

 private:
  bool turned(const std::string& name) const {
    return family_->turns_neighbours &&
           (name.find(".q_proj.") != name.npos || name.find(".k_proj.") != name.npos);
  }

  std::vector<float> rows_interleaved(std::vector<float> from, std::int64_t rows) const {
    std::vector<float> to(from.size());
    const auto head = gguf_head_dim(config_), half = head / 2;
    const auto width = static_cast<std::int64_t>(from.size()) / rows;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto first = row / head * head, at = row % head;
      const auto target = first + (at < half ? 2 * at : 2 * (at - half) + 1);
      std::copy_n(from.begin() + row * width, width, to.begin() + target * width);
    }
    return to;
  }

  // Parameters are stored (out, in) in memory, whatever Hugging Face's files do; experts one after the other.
  std::vector<float> values_of(const checkpoint::HfParameter& p) const {
    const core::Array all = values_ ? values_(p) : *p.parameter.array;
    auto elements = all.to_vector<float>();
    if (p.pieces > 1) return elements;
    const auto part = checkpoint::hf_part(p, elements);
    return {part.begin(), part.end()};
  }

  // One tensor: the parameters [begin, end) are its rows.
  std::vector<float> values_of_all(std::size_t begin, std::size_t end, bool one_more) const {
    std::vector<float> out;
    for (auto i = begin; i < end; ++i) {
      const auto values = values_of(parameters_[i]);
      out.insert(out.end(), values.begin(), values.end());
    }
    if (one_more)
      for (auto& value : out) value += 1;
    return out;
  }

  std::vector<std::int64_t> shape_of_all(std::size_t begin, std::size_t end) const {
    const auto& p = parameters_[begin];
    auto shape = checkpoint::hf_shape(p);
    if (p.transposed) std::reverse(shape.begin(), shape.end());
    for (auto i = begin + 1; i < end; ++i) shape.front() += checkpoint::hf_shape(parameters_[i]).front();
    if (p.pieces > 1) shape.insert(shape.begin(), p.pieces);
    return shape;
  }

  void add_tensors(std::vector<GgufTensor>& out) {
    for (std::size_t i = 0; i < parameters_.size();) {
      const auto& p = parameters_[i];
      std::size_t end = i + 1;
      while (end < parameters_.size() && parameters_[end].name == p.name) ++end;
      if (p.piece == 0) {
        const auto name = gguf_name(*family_, p.name);
        const auto shape = shape_of_all(i, end);
        const bool stays = shape.size() == 1 || name == "position_embd.weight" || is_router(name);
        const bool one_more = family_->adds_one && is_norm(name), turns = turned(p.name);
        out.push_back({name, stays ? GgufType::f32 : type_, shape, [=, this] {
                         auto values = values_of_all(i, end, one_more);
                         return turns ? rows_interleaved(std::move(values), shape.front()) : values;
                       }});
      }
      i = end;
    }
  }

  Json config_;
  const GgufFamily* family_;
  GgufType type_;
  std::vector<checkpoint::HfParameter> parameters_;
  std::function<core::Array(const checkpoint::HfParameter&)> values_;
};

}  // namespace

void export_gguf(nn::LanguageModel& model, const Tokenizer& tokenizer, const Json& generation,
                 const std::string& path, GgufType type) {
  Export out(model, type);
  checkpoint::write_gguf(path, out.content(tokenizer, generation));
}

}  // namespace bora::run
