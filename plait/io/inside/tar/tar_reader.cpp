#include "plait/io/inside/tar/tar_reader.h"

#include <algorithm>
#include <string_view>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/compressed/compression.h"

namespace plait {

struct TarReader::Header {
  size_t position = 0;
  std::string name = {};
  size_t size = 0;
  char type = '0';
};

namespace {

constexpr size_t kTarBlock = 512;

// A field of a header: text up to a zero byte.
std::string_view tar_field(std::string_view block, size_t begin, size_t length) {
  const std::string_view field = block.substr(begin, length);
  return field.substr(0, std::min(field.find('\0'), field.size()));
}

// Octal digits between spaces; nothing if there is anything else, or too much.
std::optional<uint64_t> tar_octal(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '7' || value >> 60 != 0) return std::nullopt;
    value = value << 3 | static_cast<uint64_t>(digit - '0');
  }
  return value;
}

// A number in octal, or in binary with the first bit set.
std::optional<uint64_t> tar_number(std::string_view block, size_t begin, size_t length) {
  if ((block[begin] & 0x80) == 0) return tar_octal(tar_field(block, begin, length));
  uint64_t value = static_cast<unsigned char>(block[begin]) & 0x7F;
  for (const char byte : block.substr(begin + 1, length - 1)) {
    if (value >> 55 != 0) return std::nullopt;
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return value;
}

// The sum of all bytes, in which those of the checksum count as spaces.
bool has_tar_checksum(std::string_view block) {
  constexpr size_t kChecksum = 148, kLength = 8;
  uint64_t sum = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const bool is_own = i >= kChecksum && i < kChecksum + kLength;
    sum += is_own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return tar_number(block, kChecksum, kLength) == sum;
}

// The values that a pax header gives the next member, in lines of "length key=value\n".
struct PaxValues {
  std::optional<std::string> path = {};
  std::optional<uint64_t> size = {};
};

std::optional<uint64_t> decimal(std::string_view text) {
  uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9' || value > UINT64_MAX / 16) return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(digit - '0');
  }
  return text.empty() ? std::nullopt : std::optional(value);
}

void read_pax(std::string_view text, PaxValues& values, size_t position) {
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::optional<uint64_t> length = decimal(text.substr(0, space));
    const bool is_inside = length && *length > space + 1 && *length <= text.size();
    const std::string_view line =
        is_inside ? text.substr(space + 1, *length - space - 1) : std::string_view();
    const size_t equals = line.find('=');
    if (!line.ends_with('\n') || equals == std::string_view::npos) {
      throw ParseError("byte {}: a pax header is malformed", position);
    }
    const std::string_view key = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1, line.size() - equals - 2);
    if (key == "path") values.path = std::string(value);
    if (key == "size") {
      values.size = decimal(value);
      if (!values.size) throw ParseError("byte {}: '{}' is not a size", position, value);
    }
    text.remove_prefix(*length);
  }
}

std::string without_end(std::string_view text) {
  return std::string(text.substr(0, std::min(text.find('\0'), text.size())));
}

}  // namespace

std::optional<TarReader::Header> TarReader::header() {
  if (position_ == 0) expect_not_compressed(archive_);
  if (position_ > archive_.size() || archive_.size() - position_ < kTarBlock) {
    throw ParseError("byte {}: the archive ends early", archive_.size());
  }
  const std::string_view block = characters_of(archive_.subspan(position_, kTarBlock));
  if (std::ranges::all_of(block, [](char byte) { return byte == 0; })) return std::nullopt;
  const std::optional<uint64_t> size = tar_number(block, 124, 12);
  if (!has_tar_checksum(block) || !size) {
    throw ParseError("byte {}: this is not the header of a tar archive", position_);
  }
  Header header{.position = position_, .size = *size, .type = block[156]};
  const std::string_view prefix =
      block.substr(257, 6) == std::string_view("ustar\0", 6) ? tar_field(block, 345, 155) : "";
  header.name = std::string(prefix) + (prefix.empty() ? "" : "/");
  header.name += tar_field(block, 0, 100);
  position_ += kTarBlock;
  return header;
}

std::span<const std::byte> TarReader::content(const Header& header) {
  const size_t left = archive_.size() - position_;
  if (header.size > left) {
    throw ParseError("byte {}: the member {} has {} bytes, {} are left", header.position,
                     header.name, header.size, left);
  }
  const auto bytes = archive_.subspan(position_, header.size);
  position_ += std::min(left, (header.size + kTarBlock - 1) / kTarBlock * kTarBlock);
  return bytes;
}

std::optional<TarMember> TarReader::next() {
  PaxValues values;
  std::optional<std::string> long_name;
  while (std::optional<Header> found = header()) {
    constexpr std::string_view kExtensions = "xgLK";
    const bool extends = kExtensions.find(found->type) != std::string_view::npos;
    if (!extends && values.size) found->size = *values.size;
    const size_t begin = position_;
    const std::string_view text = characters_of(content(*found));
    if (found->type == 'x') read_pax(text, values, begin);
    if (found->type == 'L') long_name = without_end(text);
    if (extends) continue;  // those of all members ('g') say nothing of names and sizes
    const bool is_file = found->type == '0' || found->type == '\0' || found->type == '7';
    if (is_file) {
      std::string name = values.path ? *values.path : long_name.value_or(found->name);
      return TarMember{std::move(name), begin, found->size};
    }
    values = {};
    long_name.reset();
  }
  return std::nullopt;
}

}  // namespace plait
