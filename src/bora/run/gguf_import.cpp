// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/gguf_import.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/core/host_view.h"
#include "bora/models/add_model.h"
#include "bora/run/gguf_places.h"
#include "bora/run/models.h"

namespace bora::run {
namespace {

constexpr const char* kFrequencies = "rope_freqs.weight";
constexpr const char* kLongFactors = "rope_factors_long.weight";
constexpr const char* kShortFactors = "rope_factors_short.weight";
constexpr const char* kHead = "output.weight";

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const auto size : shape) sizes.push_back(std::to_string(size));
  return "[" + join(sizes, ", ") + "]";
}

// Files leave axes of one out.
std::vector<std::int64_t> without_ones(const std::vector<std::int64_t>& shape) {
  const auto first = std::find_if(shape.begin(), shape.end(), [](auto size) { return size != 1; });
  return {first, shape.end()};
}

std::string listed(std::string_view what, const std::vector<std::string>& lines) {
  constexpr std::size_t kShown = 100;
  if (lines.empty()) return "";
  auto out = fmt::format("\n{} {}:", lines.size(), what);
  for (std::size_t i = 0; i < std::min(kShown, lines.size()); ++i) out += "\n  " + lines[i];
  return out + (lines.size() > kShown ? fmt::format("\n  and {} more", lines.size() - kShown) : "");
}

class Import {
 public:
  Import(const checkpoint::GgufFile& file, nn::LanguageModel& model)
      : file_(file),
        config_(model.hf_config()),
        family_(*gguf_family(config_.value("model_type", ""))),
        parameters_(hf_parameters(model)),
        places_(gguf_places(family_, parameters_)) {}

  void load() const {
    require_same_model();
    require_fit();
    for (const auto& place : places_) {
      read(place);
      file_.forget(place.name);
    }
  }

 private:
  // The model, described as for a new file: where the given one says something else, it was not understood.
  void require_same_model() const {
    GgufDraft draft{std::string(family_.architecture)};
    family_.describe(config_, draft);
    for (const auto& [key, value] : draft.content.metadata) {
      const auto* given = file_.value(key);
      if (given == nullptr) continue;
      const auto* whole = std::get_if<std::uint32_t>(&value);
      const auto* real = std::get_if<float>(&value);
      const auto* flag = std::get_if<bool>(&value);
      const bool same = whole != nullptr  ? *given == *whole
                        : flag != nullptr ? *given == *flag
                        : real == nullptr
                            ? true
                            : given->is_number() && static_cast<float>(given->get<double>()) == *real;
      if (!same)
        fail(ErrorKind::Unsupported, "{}: GGUF: {} is {}, but Bora's model would have {}", file_.path(), key,
             given->dump(-1, ' ', true, Json::error_handler_t::replace),
             whole != nullptr  ? double(*whole)
             : flag != nullptr ? double(*flag)
                               : double(*real));
    }
  }

  // A head that is the embedding once more, as some files have it.
  bool is_tied_head(const std::string& name) const {
    const auto head = file_.find(kHead), embedding = file_.find("token_embd.weight");
    return name == kHead && head && embedding && head->shape == embedding->shape &&
           file_.floats(kHead) == file_.floats("token_embd.weight");
  }

  void require_fit() const {
    std::vector<std::string> missing, misfitting, unknown;
    std::set<std::string> used = {kFrequencies};
    if (family_.type == "phi3") used.insert({kLongFactors, kShortFactors});
    for (const auto& place : places_) {
      used.insert(place.name);
      const auto found = file_.find(place.name);
      if (!found)
        missing.push_back(fmt::format("{} {}", place.name, shape_text(place.shape)));
      else if (without_ones(found->shape) != without_ones(place.shape))
        misfitting.push_back(fmt::format("{} is {} but the model's {} needs {}", place.name,
                                         shape_text(found->shape), parameters_[place.begin].parameter.path,
                                         shape_text(place.shape)));
    }
    for (const auto& name : file_.names())
      if (!used.contains(name) && !is_tied_head(name))
        unknown.push_back(fmt::format("{} {}", name, shape_text(file_.find(name)->shape)));
    if (missing.empty() && misfitting.empty() && unknown.empty()) return;
    fail(
        !misfitting.empty() ? ErrorKind::Corruption
        : !missing.empty()  ? ErrorKind::NotFound
                            : ErrorKind::Unsupported,
        "{}: GGUF: the tensors are not those of a model of type {}{}{}{}\nhint: import the Hugging Face directory of "
        "the model, where Bora has its type",
        file_.path(), family_.type, listed("missing", missing), listed("of another shape", misfitting),
        listed("without a place in the model", unknown));
  }

  std::vector<float> in_order(const std::vector<float>& from, const GgufPlace& place) const {
    std::vector<float> to(from.size());
    const auto heads = gguf_heads(config_), head = gguf_head_dim(config_), rows = place.shape.front();
    const auto width = std::ssize(from) / rows;
    for (std::int64_t row = 0; row < rows; ++row)
      std::copy_n(from.begin() + gguf_row(place.rows, row, heads, head) * width, width,
                  to.begin() + row * width);
    return to;
  }

  void read(const GgufPlace& place) const {
    auto values = file_.floats(place.name);
    if (place.rows != GgufRows::same) values = in_order(values, place);
    if (place.one_more)
      for (auto& value : values) value -= 1;
    auto at = values.begin();
    for (auto i = place.begin; i < place.end; ++i) {
      const auto& array = *parameters_[i].parameter.array;
      const core::HostView into(array, core::HostView::Use::write);
      const auto out = into.floats();
      std::copy_n(at, out.size(), out.begin());
      at += static_cast<std::ptrdiff_t>(out.size());
    }
  }

  const checkpoint::GgufFile& file_;
  Json config_;
  const GgufFamily& family_;
  std::vector<checkpoint::HfParameter> parameters_;
  std::vector<GgufPlace> places_;
};

}  // namespace

GgufImport import_gguf(const std::string& path) {
  const checkpoint::GgufFile file(path);
  const auto json = gguf_config(file);
  auto tokenizer = tokenizer_of_gguf(file);
  const auto rows = models::vocab_size_from_hf(json, path);
  if (tokenizer && tokenizer->vocab_size() > rows)
    fail(ErrorKind::Corruption,
         "{}: GGUF: tokenizer.ggml.tokens has {} tokens, but token_embd.weight {} rows", path,
         tokenizer->vocab_size(), rows);
  const auto config = models::model_config_from_hf(json, path);
  auto model = model_to_fill(*config, rows);
  Import(file, *model).load();
  return {std::move(model), std::move(tokenizer), generation_of_gguf(file)};
}

}  // namespace bora::run
