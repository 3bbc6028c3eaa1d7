// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace bora::store {

/// What an origin says of a file before it sends it.
struct Promise {
  std::int64_t size = -1;  ///< -1: it does not say
  std::string validator;   ///< changes with the content; empty: nobody knows
  std::string sha256;      ///< empty: it does not say
};

/// Where one remote file is.
class Origin {
 public:
  enum class Sent {
    All,      ///< up to the end
    Changed,  ///< nothing: the file is not the one that was known
  };
  struct Receiver {
    /// Before the bytes: from where on they come, 0 or `have`, and of what.
    std::function<void(std::uint64_t begin, const Promise& promise)> begin;
    std::function<void(std::span<const std::byte>)> bytes;
  };

  virtual ~Origin() = default;
  /// Sends the file from byte `have` on if it is still the one that is known, else all of it or nothing.
  /// What the receiver throws comes back. Errors: NotFound; Io for what may go better the next time, unless
  /// is_final() says otherwise afterwards.
  virtual Sent send(std::uint64_t have, const Promise& known, const Receiver& receiver) = 0;
  bool is_final() const { return final_; }

 protected:
  bool final_ = false;
};

struct DownloadOptions;
std::unique_ptr<Origin> http_origin(const std::string& url, const DownloadOptions& options);

}  // namespace bora::store
