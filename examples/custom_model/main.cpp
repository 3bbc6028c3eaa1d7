// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Bora with one model type more: every command of `bora`, for the model of bigram.h.
//
//   cat docs/*/*.md > docs.txt
//   custom_model train examples/custom_model/bigram.yaml
//   custom_model launch -n 2 -- train examples/custom_model/bigram.yaml
//   custom_model generate runs/bigram "A checkpoint is"
#include "bora/cli/main.h"
#include "bigram.h"
#include "bora/models/add_model.h"

int main(int argc, char** argv) {
  return bora::cli::main(argc, argv, [] {
    bora::models::add_model<bigram::Bigram>("bigram", "each token predicts the next one from itself alone");
  });
}
