// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/add_model.h"
#include "bora/models/backpack.h"
#include "bora/models/builtin.h"
#include "bora/models/gpt2.h"
#include "bora/models/gpt_neox.h"
#include "bora/models/gptj.h"
#include "bora/models/mpt.h"

namespace bora::models {

void add_gpt_models() {
  add_model<gpt2::Gpt2>("gpt2", "GPT-2 (Radford et al. 2019)");
  add_model<gpt_neox::GptNeoX>("gpt_neox", "GPT-NeoX (Black et al. 2022) and Pythia (Biderman et al. 2023)");
  add_model<gptj::GptJ>("gptj", "GPT-J (Wang and Komatsuzaki 2021)");
  add_model<mpt::Mpt>("mpt", "MPT (MosaicML 2023)");
  add_model<backpack::Backpack>("backpack", "Backpack (Hewitt et al. 2023), with sense vectors");
}

}  // namespace bora::models
