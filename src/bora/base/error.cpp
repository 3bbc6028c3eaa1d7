// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/error.h"

namespace bora {

int exit_code(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::Usage:
    case ErrorKind::Config:
      return 2;
    case ErrorKind::NotFound:
    case ErrorKind::Corruption:
      return 3;
    case ErrorKind::NonFinite:
      return 4;
    case ErrorKind::Stopped:
      return 75;
    case ErrorKind::InvalidArgument:
    case ErrorKind::Unsupported:
    case ErrorKind::Io:
      return 1;
  }
  return 1;
}

}  // namespace bora
