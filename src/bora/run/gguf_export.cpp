// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/gguf_export.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/run/adapters.h"
#include "bora/run/gguf_families.h"
#include "bora/run/gguf_places.h"
#include "bora/run/gguf_tokenizer.h"
#include "bora/run/models.h"
#include "bora/run/no_export.h"

namespace bora::run {
namespace {

using checkpoint::GgufContent;
using checkpoint::GgufTensor;
using checkpoint::GgufType;

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
    auto words = gguf_tokenizer(tokenizer, generation, config_.at("vocab_size").get<std::int64_t>());
    notes_ = words.notes;
    const bool is_phi3 = family_->type == "phi3";
    if (words.is_phi3 && !is_phi3)
      refuse_gguf_tokenizer(fmt::format(
          "special tokens take the white space behind them (rstrip) as Phi-3's do, in a model of type {}",
          family_->type));
    // Of a name with "phi3" in it, llama.cpp demands Phi-3's tokens, and treats them so.
    out.put("general.name", std::string(is_phi3 && !words.is_phi3 ? "phi" : family_->type));
    out.put("general.file_type", type_ == GgufType::f32 ? 0U : type_ == GgufType::q8_0 ? 7U : 32U);
    if (type_ == GgufType::q8_0) out.put("general.quantization_version", 2U);
    family_->describe(config_, out);
    for (auto& pair : words.metadata) out.content.metadata.push_back(std::move(pair));
    notes_.insert(notes_.end(), out.notes.begin(), out.notes.end());
    add_tensors(out.content.tensors);
    return std::move(out.content);
  }

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<float> in_order(const std::vector<float>& from, const GgufPlace& place) const {
    std::vector<float> to(from.size());
    const auto heads = gguf_heads(config_), head = gguf_head_dim(config_), rows = place.shape.front();
    const auto width = std::ssize(from) / rows;
    for (std::int64_t row = 0; row < rows; ++row)
      std::copy_n(from.begin() + row * width, width,
                  to.begin() + gguf_row(place.rows, row, heads, head) * width);
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

  void add_tensors(std::vector<GgufTensor>& out) {
    for (const auto& place : gguf_places(*family_, parameters_))
      out.push_back({place.name, place.stays_f32 ? GgufType::f32 : type_, place.shape, [=, this] {
                       auto values = values_of_all(place.begin, place.end, place.one_more);
                       return place.rows == GgufRows::same ? values : in_order(values, place);
                     }});
  }

  Json config_;
  const GgufFamily* family_;
  GgufType type_;
  std::vector<std::string> notes_;
  std::vector<checkpoint::HfParameter> parameters_;
  std::function<core::Array(const checkpoint::HfParameter&)> values_;
};

}  // namespace

std::vector<std::string> export_gguf(nn::LanguageModel& model, const Tokenizer& tokenizer,
                                     const Json& generation, const std::string& path, GgufType type) {
  Export out(model, type);
  checkpoint::write_gguf(path, out.content(tokenizer, generation));
  return out.notes();
}

}  // namespace bora::run
