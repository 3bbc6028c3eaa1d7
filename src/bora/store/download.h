// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "bora/store/origin.h"

namespace bora::store {

struct DownloadOptions {
  int tries = 6;             ///< in a row without a new byte
  double pause_seconds = 1;  ///< after the first failure; twice as long after each further one
  double silent_seconds = 60;
  std::int64_t max_bytes = 100'000'000'000;  ///< of one file; data.max_download
  bool allow_private =
      false;                ///< data.allow_private_addresses: ask machines that are not in the public network
  std::string bearer = {};  ///< a token for the server of the URL alone
};

/// The local copy of an http or https URL, fetched into `folder` if it is not there yet:
///
///     <folder>/<hash>/<its last name>                      complete and checked
///                                <its last name>.part      what has come so far
///                                state.json                size, ETag and SHA-256
///
/// The hash is of the URL without its credentials (without_credentials), so a link that was signed anew finds
/// its copy; state.json holds the URL redacted.
///
/// A download that broke off goes on where it stopped, in this process or a later one, if the server says
/// that the file is still the same (If-Range); else it starts over. Of several processes one fetches, the
/// others wait for it. Checked are the length, the SHA-256 that
/// a fragment states (`https://.../a.jsonl.zst#sha256=<64 digits>`) or, without one, the server's
/// `X-Linked-Etag` if that is one. A complete copy is used without asking the server again.
///
/// Errors: NotFound for 404 and 410; Io for other answers and networks that fail `tries` times (tried again
/// are answers of 500 and more, 408 and 429, and connections that break or fall silent, with longer and
/// longer pauses); Corruption for a wrong length or checksum; Config for more than max_bytes and for an
/// address that is not public; Unsupported for a URL whose last name is no plain file name, or that has a
/// password in it, and for what http_get says so of.
std::string download(const std::string& url, const std::string& folder, const DownloadOptions& options = {});

/// The same from elsewhere; `origin_of` is asked if there is something to fetch.
using OriginOf = std::function<std::unique_ptr<Origin>(const std::string& url)>;
std::string download(const std::string& url, const std::string& folder, const DownloadOptions& options,
                     const OriginOf& origin_of);

/// What is known of a file that download() would fetch, asked of its origin as it is before the first byte.
struct AskedFile {
  bool is_here = false;    ///< a complete copy is; nobody was asked
  std::int64_t size = -1;  ///< -1: nobody says
};
/// Errors: those that download() has before the first byte.
AskedFile ask_for(const std::string& url, const std::string& folder, const DownloadOptions& options,
                  const OriginOf& origin_of);

}  // namespace bora::store
