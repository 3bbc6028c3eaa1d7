// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bora/store/hub.h"

namespace bora::store {

/// A file here, and its name in the repository: "config.json", "folder/file.txt".
struct HubFile {
  std::string path, name;
  std::uint64_t size = 0;
};

/// What is to become one commit of a model's repository on the Hugging Face hub.
struct HubUpload {
  HubRepo repo;  ///< its revision is a branch, which is made from main where it is not there
  std::vector<HubFile> files;
  std::string message;     ///< of the commit, one line
  bool is_private = true;  ///< of a repository that has to be made; one that is there stays as it is
};

/// The files of a folder and of those in it, sorted by name, or the one file. Errors: NotFound; Unsupported for
/// names that a repository cannot have.
std::vector<HubFile> files_to_upload(const std::string& path);

/// What an upload is, for a person, a line for each file: where to, who may see it, names and sizes.
std::string describe(const HubUpload& upload, const HubOptions& options);

/// Whether an upload can begin, so far as it is known here. Errors: Config without a token, without an owner and
/// offline.
void require_upload(const HubRepo& repo, const HubOptions& options);

struct HubCommit {
  std::string url;         ///< of the commit, for people
  std::uint64_t sent = 0;  ///< bytes of large files that the hub did not have
  bool made_repository = false;
};

/// Uploads as huggingface_hub does: the repository is made, the hub says which files are large, these go to its
/// storage (Git LFS) in one piece or in parts, and one commit names all. A commit that is not complete is not there;
/// what has arrived of large files is not sent again when the same is uploaded again. The token goes to the endpoint
/// alone, not to the storage that it points to.
///
/// Errors: those of require_upload; NotFound where the token may not write there; Io for the network after
/// some tries; Corruption for a file that has changed since it was listed; Unsupported for what the hub refuses, in its
/// words, and for a repository that takes large files by Xet alone.
HubCommit upload_to_hub(const HubUpload& upload, const HubOptions& options);

}  // namespace bora::store
