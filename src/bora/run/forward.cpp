// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/forward.h"

#include "bora/base/error.h"
#include "bora/checkpoint/hf_columns.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/data/loader.h"
#include "bora/run/models.h"
#include "bora/run/peft.h"
#include "bora/train/lanes.h"

namespace bora::run {
namespace {

NamedResult result_of(const core::Array& a) { return {a.sizes(), a.to_vector<float>()}; }

// Each position predicts the next; the last of a row predicts nothing.
nn::TokenBatch next_token_batch(const std::vector<std::int32_t>& ids, std::int64_t batch,
                                std::int64_t positions) {
  data::Batch rows{.sequences = batch, .seq_len = positions, .tokens = ids};
  for (std::int64_t i = 1; i <= batch * positions; ++i)
    rows.loss_weights.push_back(i % positions == 0 ? 0 : 1);
  data::set_next_token_targets(rows);
  return train::token_batch(rows, 0, batch);
}

void transpose_in_place(NamedResult& r) {
  std::vector<float> out(r.values.size());
  auto columns = r.shape[0], rows = r.shape[1];
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      out[static_cast<std::size_t>(j * rows + i)] = r.values[static_cast<std::size_t>(i * columns + j)];
  r.values = std::move(out);
}

// Parameters of one name are the rows of one tensor.
void add_rows(NamedResult& all, NamedResult more) {
  if (all.shape.empty()) {
    all = std::move(more);
    return;
  }
  all.shape.front() += more.shape.front();
  all.values.insert(all.values.end(), more.values.begin(), more.values.end());
}

// Or its columns.
void add_columns(NamedResult& all, const checkpoint::HfParameter& p, const std::vector<float>& whole) {
  all.shape = checkpoint::hf_shape(p);
  all.values.resize(whole.size() * static_cast<std::size_t>(p.columns.step));
  checkpoint::put_columns(p, whole, all.values);
}

void add_gradients(nn::LanguageModel& model, const nn::TokenBatch& batch, core::DType compute,
                   std::map<std::string, NamedResult>& out) {
  std::vector<core::Array*> arrays;
  std::map<std::size_t, std::size_t> places;  // of trained parameters, by id
  for (auto& p : model.parameters()) {
    if (!p.trainable) continue;
    places[p.id] = arrays.size();
    arrays.push_back(p.array);
  }
  auto result = core::value_and_grad(arrays, [&] {
    auto loss = model.objective(batch, std::nullopt, {.compute = compute});
    return core::binary(core::Binary::divide, {loss.loss, {}}, loss.weight.item());
  });
  auto parameters = hf_parameters(model);
  for (auto& p : adapter_parameters(model)) parameters.push_back(std::move(p));
  for (const auto& p : parameters) {
    if (!p.parameter.trainable) continue;
    const auto whole = result.gradients[places.at(p.parameter.id)].to_vector<float>();
    if (p.columns.step > 0) {
      add_columns(out["grad." + p.name], p, whole);
      continue;
    }
    const auto part = checkpoint::hf_part(p, whole);
    NamedResult r{checkpoint::hf_shape(p), {part.begin(), part.end()}};
    if (p.transposed) transpose_in_place(r);
    add_rows(out["grad." + p.name], std::move(r));
  }
}

void check_ids(const nn::ModelShape& shape, const std::vector<std::int32_t>& ids, std::int64_t positions) {
  if (ids.empty() || positions < 2) {
    fail(ErrorKind::InvalidArgument,
         "forward: {} position{} a row, but a loss needs two at least\nhint: longer sequences",
         ids.empty() ? 0 : positions, positions == 1 && !ids.empty() ? "" : "s");
  }
  if (positions > shape.seq_len) {
    fail(ErrorKind::InvalidArgument,
         "forward: {} positions but the model's seq_len is {}\nhint: shorter sequences", positions,
         shape.seq_len);
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < shape.vocab) continue;
    fail(ErrorKind::InvalidArgument,
         "forward: id {} at place {} is outside the vocabulary of {}\nhint: another tokenizer?", ids[i], i,
         shape.vocab);
  }
}

}  // namespace

std::map<std::string, NamedResult> forward(nn::LanguageModel& model, const std::vector<std::int32_t>& ids,
                                           std::int64_t batch, std::int64_t positions,
                                           const ForwardOptions& options) {
  check_ids(model.shape(), ids, positions);
  auto tokens = next_token_batch(ids, batch, positions);
  std::map<std::string, NamedResult> out;
  const std::function<void(std::int64_t, const core::Array&)> probe =
      [&](std::int64_t i, const core::Array& x) { out["hidden_states." + std::to_string(i)] = result_of(x); };
  nn::Context context;
  if (options.hidden) context.probe = &probe;
  out["logits"] = result_of(model.logits(tokens.ids, context));
  auto loss = model.objective(tokens, std::nullopt, {.compute = options.compute});
  out["loss"] = {{}, {static_cast<float>(loss.loss.item() / loss.weight.item())}};
  if (options.grads) add_gradients(model, tokens, options.compute, out);
  return out;
}

}  // namespace bora::run
