// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: what a pass takes from the host, so that a device can do the pass again (core/step_graph.h).
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "bora/base/key.h"
#include "bora/base/key_trail.h"

namespace bora::core {

/// While it lives, notes the keys that this thread's kernels draw with, in order of their first use, and the arrays
/// that the host sends.
class PassNotes {
 public:
  struct Where {
    c10::Stream home;  ///< where arrays are made that stay
    bool noting;       ///< kernels read `count` keys from `keys`, and nothing new is sent
    const Key* keys;   ///< on the device
    std::size_t count;
  };
  /// The same in each pass of a shape, since all that changes is on the device; masks, say.
  struct Constant {
    std::vector<std::byte> bytes;
    at::Tensor array;
  };

  PassNotes(Where there, std::vector<Constant> constants);
  ~PassNotes();
  PassNotes(const PassNotes&) = delete;
  PassNotes& operator=(const PassNotes&) = delete;

  const Key* place_of(const Key& key);
  at::Tensor constant(at::IntArrayRef sizes, std::span<const std::byte> bytes,
                      const std::function<at::Tensor()>& make);
  std::size_t count() const { return keys_.size(); }
  const std::vector<Constant>& constants() const { return constants_; }
  /// How each key comes from the pass's own.
  std::vector<KeyTrail::Way> ways(const Key& root) const;

 private:
  KeyTrail trail_;
  std::vector<Key> keys_;
  Where there_;
  std::vector<Constant> constants_;
  PassNotes* before_;
};

/// Where a kernel finds the key; null: it gets it by value.
const Key* place_of_key(const Key& key);
/// make(), or what it made of the same bytes before, in a pass that is noted.
at::Tensor constant_of_pass(at::IntArrayRef sizes, std::span<const std::byte> bytes,
                            const std::function<at::Tensor()>& make);

}  // namespace bora::core
