// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/speech_model.h"

#include "bora/base/error.h"

namespace bora::nn {

core::Array SpeechModel::logits(const core::Array&, const Context&) const {
  fail(ErrorKind::Unsupported,
       "{}: a model of speech writes what it hears, and here is no sound\nhint: bora transcribe",
       shape().type);
}

}  // namespace bora::nn
