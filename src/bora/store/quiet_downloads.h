// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::store {

/// While it lives, this thread's downloads do not say what they fetch: whoever fetches many files tells it of all
/// together. Scopes nest.
class QuietDownloads {
 public:
  QuietDownloads();
  ~QuietDownloads();
  QuietDownloads(const QuietDownloads&) = delete;
  QuietDownloads& operator=(const QuietDownloads&) = delete;

  static bool wanted();

 private:
  bool before_;
};

}  // namespace bora::store
