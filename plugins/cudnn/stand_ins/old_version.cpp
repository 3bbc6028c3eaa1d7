// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// For tests: a plug-in of another source tree.
extern "C" int bora_cudnn_plugin_version() { return 0; }
