// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/store/download.h"

namespace bora::store {

/// An object of a bucket.
struct RemoteObject {
  std::string path;  ///< bucket/key
  std::int64_t size = 0;
  std::int64_t changed = 0;  ///< nanoseconds since 1970
};

/// A bucket of S3 or Google Cloud Storage as Arrow's file systems read it; implemented by the plug-in.
class ObjectStore {
 public:
  using Take = std::function<void(std::span<const std::byte>)>;
  virtual ~ObjectStore() = default;
  /// Nothing where no object of this path is; a folder is none.
  virtual std::optional<RemoteObject> look_up(const std::string& path) = 0;
  /// Every object below a folder, by bytes of their paths; none if there is no such folder.
  virtual std::vector<RemoteObject> list(const std::string& folder) = 0;
  /// The object from byte `begin` on, in pieces of at most 8 MiB. What `take` throws comes back.
  virtual void read(const RemoteObject& object, std::uint64_t begin, const Take& take) = 0;
};

/// The store that `s3://bucket...?options` and `gs://bucket...?options` name. Options are those of Arrow's
/// FileSystemFromUri (region, scheme, endpoint_override, ...); credentials come from where the vendors' own
/// programs find them (AWS_ACCESS_KEY_ID, ~/.aws, GOOGLE_APPLICATION_CREDENTIALS, ...), never from the URL;
/// gs://anonymous@bucket asks without any, as does s3:// where there are none. Errors: Unsupported, with the
/// next action, without the plug-in; Config for options that Arrow does not know.
std::unique_ptr<ObjectStore> open_object_store(const std::string& url,
                                               const std::string& library = "libbora_arrow.so");

/// Whether a URL is of such a store: s3, gs.
bool is_object_scheme(std::string_view scheme);

/// The URLs of the objects that a URL names: itself if its last name is that of a data file; with `*`, `[..]`
/// and `**` those that match, as in expand_urls; else every data file below it. By bytes. Errors: NotFound if
/// there is none; Config for an `endpoint_override` of the URL whose address is not public, unless
/// options.allow_private (AWS_ENDPOINT_URL of the environment may be anywhere); those of open_object_store
/// and the network.
std::vector<std::string> object_urls(const std::string& url, const DownloadOptions& options = {});

/// Whether the plug-in is there: asking for it where it is not builds it first.
bool can_open_object_stores();

/// Where an object comes from.
std::unique_ptr<Origin> object_origin(const std::string& url);

/// The local copy of an object, fetched as download() does; the checksum may follow in the same way. Errors:
/// those of download() and object_urls.
std::string download_object(const std::string& url, const std::string& folder,
                            const DownloadOptions& options = {});

}  // namespace bora::store
