// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The subcommands, one source file each.
#pragma once
#include <string>
#include <vector>

namespace bora::cli {

using Arguments = std::vector<std::string>;

int run_train(const Arguments& arguments);
int run_launch(const Arguments& arguments);
int run_eval(const Arguments& arguments);
int run_generate(const Arguments& arguments);
int run_chat(const Arguments& arguments);
int run_transcribe(const Arguments& arguments);
int run_wer(const Arguments& arguments);
int run_train_tokenizer(const Arguments& arguments);
int run_tokenize(const Arguments& arguments);
int run_cache(const Arguments& arguments);
int run_data(const Arguments& arguments);
int run_import(const Arguments& arguments);
int run_export(const Arguments& arguments);
int run_forward(const Arguments& arguments);
int run_senses(const Arguments& arguments);
int run_diff(const Arguments& arguments);
int run_config(const Arguments& arguments);
int run_inspect(const Arguments& arguments);
int run_runs(const Arguments& arguments);
int run_report(const Arguments& arguments);
int run_bench(const Arguments& arguments);
int run_bench_workers(const Arguments& arguments);   // its second kind
int run_bench_generate(const Arguments& arguments);  // and its third
int run_completion(const Arguments& arguments);
int run_version(const Arguments& arguments);
int run_doctor(const Arguments& arguments);

}  // namespace bora::cli
