// Builds tar archives for tests, from headers on.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace plait {

inline std::string tar_octal_field(size_t value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*zo", digits, value);
  return text;
}

// A header of 512 bytes, as ustar has it.
inline std::string tar_header(std::string_view name, std::string_view size_field, char type = '0',
                              std::string_view prefix = "") {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(100, 7, "0000644");
  block.replace(124, size_field.size(), size_field);
  block.replace(148, 8, "        ");
  block[156] = type;
  block.replace(257, 8, std::string_view("ustar\00000", 8));
  block.replace(345, prefix.size(), prefix);
  size_t sum = 0;
  for (const char byte : block) sum += static_cast<unsigned char>(byte);
  block.replace(148, 7, tar_octal_field(sum, 6) + '\0');
  return block;
}

inline std::string tar_member(std::string_view name, std::string_view content, char type = '0',
                              std::string_view prefix = "") {
  std::string member = tar_header(name, tar_octal_field(content.size(), 11), type, prefix);
  member += content;
  member.resize((member.size() + 511) / 512 * 512);
  return member;
}

inline std::string tar_end() { return std::string(1024, '\0'); }

}  // namespace plait
