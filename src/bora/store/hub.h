// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bora::store {

/// Models of the Hugging Face hub, kept in the cache that huggingface_hub keeps them in, so that each finds what
/// the other has fetched:
///
///     <cache>/models--owner--name/refs/main                  the commit that main was
///                                 blobs/<etag>               contents: by SHA-256, or git's hash of small ones
///                                 snapshots/<commit>/<file>  links to them

/// A repository and what of its history: a branch, a tag, `refs/pr/1` or a commit.
struct HubRepo {
  std::string id;  ///< "owner/name", or "gpt2" for some old ones
  std::string revision = "main";
};

/// "owner/name" or "name", either with "@revision" behind it; nothing for what cannot be such a name.
std::optional<HubRepo> parse_hub_repo(std::string_view text);

/// What is wanted of a model, all of it from the top folder of its repository.
enum class HubFiles {
  Tokenizer,  ///< files of the tokenizer, the chat template, and config.json
  Model,      ///< the same of a model whose weights Bora can read
  Weights,    ///< the same, with the weights: safetensors
};

struct HubOptions {
  std::string endpoint = "https://huggingface.co";
  std::string cache;           ///< a folder
  std::string token;           ///< goes to the endpoint alone, never to where it points; empty: none
  bool offline = false;        ///< only what the cache has
  bool allow_private = false;  ///< an endpoint that is not in the public network
  double pause_seconds = 1;    ///< before another try, then twice as long, and so on
  std::int64_t max_bytes = 100'000'000'000;  ///< of one file
};

/// As huggingface_hub reads the environment: HF_ENDPOINT, HF_TOKEN or the file HF_TOKEN_PATH, HF_HUB_CACHE,
/// HF_HOME, HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE. An endpoint that is named there may be anywhere.
HubOptions hub_options();

/// The folder snapshots/<commit> with the wanted files. The hub is asked which commit the revision is, and what
/// is in the cache is not fetched again; files that broke off go on where they stopped; of several processes
/// one fetches. A commit that was fetched whole is used without asking. Where the hub cannot be reached,
/// what the cache has of the revision is used, with a warning. Sizes are checked, and SHA-256 where the hub
/// states it, as it does for weights.
///
/// Errors: NotFound for a repository or revision that is not there or not open to the token, and for what an
/// offline cache lacks; Unsupported for weights in other formats; Io and Corruption as of download().
std::string fetch_from_hub(const HubRepo& repo, HubFiles files, const HubOptions& options);

/// The commits that branches have been in this process, a line each: what one worker tells the others.
std::string hub_pins();
/// Takes another worker's. Errors: Config where this process has met another commit of the same branch.
void adopt_hub_pins(std::string_view pins);

/// Whether a folder is one that fetch_from_hub gives.
bool is_hub_snapshot(const std::string& folder);

/// What fetch_from_hub gave for HubFiles::Model gets its weights; any other folder is left alone.
void fetch_weights(const std::string& snapshot, const HubOptions& options);

}  // namespace bora::store
