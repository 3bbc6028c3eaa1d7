// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/hub_name.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/store/hub_data.h"
#include "bora/store/urls.h"

namespace bora::run {
namespace {

// Names without an owner.
constexpr std::array<std::string_view, 5> kOld = {"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl",
                                                  "distilgpt2"};

}  // namespace

bool is_on_hub(const std::string& name) {
  if (exists(name)) return false;
  const auto repo = store::parse_hub_repo(name);
  if (!repo) return false;
  if (std::find(kOld.begin(), kOld.end(), repo->id) != kOld.end()) return true;
  const auto parts = split(repo->id, '/');
  // runs/mine is a path that is wrong, and nobody else's business.
  return parts.size() == 2 && ascii_lower(parts[0]) != "runs" && !exists(parts[0]);
}

std::string local_path(const std::string& name, store::HubFiles files) {
  if (!is_on_hub(name)) return name;
  return store::fetch_from_hub(*store::parse_hub_repo(name), files, store::hub_options());
}

void agree_on_hub(const data::DataConfig& data, mesh::Communicator& workers) {
  if (workers.size() == 1) return;
  std::string pins;
  if (workers.rank() == 0) {
    for (const auto& [name, source] : data.sources())
      for (const auto split : {store::Split::Train, store::Split::Validation})
        for (const auto& url : source.urls(split))
          if (store::remote_scheme(url) == "hf") store::pin_hub_data(url, store::hub_options());
    pins = store::hub_pins();
  }
  store::adopt_hub_pins(mesh::broadcast_text(workers, 0, pins));
}

}  // namespace bora::run
