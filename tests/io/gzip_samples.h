// Makes gzip files for tests.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/deflate.h"

namespace plait {

// A member as in RFC 1952; a name makes its header longer.
inline std::string gzip(std::string_view content, const std::string& name = "") {
  using namespace std::string_literals;
  std::vector<std::byte> file;
  for (const char c : "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"s) file.push_back(std::byte(c));
  if (!name.empty()) {
    file[3] = std::byte{8};
    for (const char c : name + '\0') file.push_back(std::byte(c));
  }
  const std::span<const std::byte> part = bytes_of(content);
  deflate_into(
      [&](std::span<const std::byte> bytes) {
        file.insert(file.end(), bytes.begin(), bytes.end());
      },
      {&part, 1});
  append_number<uint32_t>(file, crc32_of(part));
  append_number<uint32_t>(file, static_cast<uint32_t>(content.size()));
  return std::string(characters_of(file));
}

}  // namespace plait
