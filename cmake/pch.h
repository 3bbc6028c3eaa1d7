// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Precompiled once for all rooms but core, which has torch's headers too. No header of Bora's own: each
// source includes what it uses. CI builds the rooms without libtorch without this, and so checks those.
#pragma once
#include <fmt/core.h>

#include <nlohmann/json.hpp>

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
