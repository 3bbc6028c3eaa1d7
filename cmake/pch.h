// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Precompiled once for all rooms but core, which has torch's headers too. No header of Bora's own: each
// source includes what it uses. CI builds the rooms without libtorch without this, and so checks those.
#pragma once
#include <fmt/core.h>

// An inline function that nobody calls is compiled in every source all the same, with all it needs: the library's
// ""_json needed a parser of another kind of value than ours, half a second of each compilation. Deleted here.
#define _json(text, size)     \
  _json(text, size) = delete; \
  template <class Nobody>     \
  nlohmann::json parse_literal(text, size)
#include <nlohmann/json.hpp>
#undef _json

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
