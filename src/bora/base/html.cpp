// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/html.h"

namespace bora {
namespace {

void append_html(std::string& out, char c) {
  switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t')
        out += c;
      else
        out += "\ufffd";
  }
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) append_html(out, c);
  return out;
}

}  // namespace bora
