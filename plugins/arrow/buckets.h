// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string>

#include "bora/store/object_store.h"

namespace bora::arrow_files {

/// `store`: scheme://bucket?options.
std::unique_ptr<store::ObjectStore> open_bucket(const std::string& store);

}  // namespace bora::arrow_files
