// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A case on the workers of a mesh against one worker.
#pragma once
#include <gtest/gtest.h>

#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "bora/mesh/mesh.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_ops.h"

namespace bora::mesh::testing {

struct Layout {
  MeshShape shape;
  Mesh::Rules rules;
  std::string text;
};

/// Value and every gradient.
inline void expect_like_one(const Case& c, std::span<const Layout> layouts) {
  const Outcome want = run(c);
  for (const auto& layout : layouts) {
    std::mutex mutex;
    const auto errors = run_workers({.count = layout.shape.workers()}, [&](Communicator& workers) {
      const Mesh mesh(borrowed(workers), layout.shape, layout.rules);
      const core::MappingScope scope(mesh.mapping());
      const Outcome got = run(c);
      const std::lock_guard lock(mutex);
      EXPECT_LE(error_of(got.value, want.value), 3e-6F) << c.name << ", value: " << layout.text;
      for (std::size_t i = 0; i < want.gradients.size(); ++i) {
        EXPECT_LE(error_of(got.gradients[i], want.gradients[i]), 1e-5F)
            << c.name << ", gradient " << i << ": " << layout.text;
      }
    });
    for (const auto& e : errors) EXPECT_EQ(e, "") << c.name << ": " << layout.text;
  }
}

}  // namespace bora::mesh::testing
