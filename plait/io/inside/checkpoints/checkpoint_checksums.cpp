#include "plait/io/inside/checkpoints/checkpoint_checksums.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/crc32c.h"

namespace plait {
namespace {

constexpr size_t kDigits = 8;
constexpr uint64_t kBeginOfHeader = 8;

// The place of the digits in the beginning of a file. A quote within a JSON string is escaped, so
// this text is a name.
size_t place_of_checksums(std::string_view header) {
  const std::string name = fmt::format("\"{}\":\"", kChecksumsEntry);
  const size_t found = header.find(name);
  const size_t place = found == std::string_view::npos ? found : found + name.size();
  if (found == std::string_view::npos || header.size() - place < 2 * kDigits + 1) {
    throw ParseError("it has no checksums in its metadata: it is not a checkpoint of Plait");
  }
  return place;
}

std::string_view header_of(std::span<const std::byte> file) {
  FieldReader reader(file);
  const auto length = reader.number<uint64_t>();
  reader.take(length);
  return characters_of(file.first(kBeginOfHeader + length));
}

uint32_t checksum_in(std::string_view digits) {
  uint32_t value = 0;
  const char* const end = digits.begin() + kDigits;
  if (std::from_chars(digits.begin(), end, value, 16).ptr != end) {
    throw ParseError("the checksum {:?} is not a number of 8 hexadecimal digits", digits);
  }
  return value;
}

// With zeros instead of its own checksum.
uint32_t checksum_of_header(std::string_view header, size_t place) {
  uint32_t sum = crc32c_of(bytes_of(header.substr(0, place)));
  sum = crc32c_of(bytes_of(std::string_view("00000000")), sum);
  return crc32c_of(bytes_of(header.substr(place + kDigits)), sum);
}

void expect_checksum(std::string_view what, uint32_t found, uint32_t expected) {
  if (found == expected) return;
  throw ParseError("it is damaged: the checksum of {} is {:08x}, expected {:08x}", what, found,
                   expected);
}

}  // namespace

void set_checksums(std::string& header, uint32_t of_tensors) {
  const size_t place = place_of_checksums(header);
  header.replace(place + kDigits + 1, kDigits, fmt::format("{:08x}", of_tensors));
  header.replace(place, kDigits, fmt::format("{:08x}", checksum_of_header(header, place)));
}

void check_header_checksum(std::span<const std::byte> file) {
  const std::string_view header = header_of(file);
  const size_t place = place_of_checksums(header);
  expect_checksum("its header", checksum_of_header(header, place),
                  checksum_in(header.substr(place, kDigits)));
}

void check_tensors_checksum(std::span<const std::byte> file) {
  const std::string_view header = header_of(file);
  const size_t place = place_of_checksums(header) + kDigits + 1;
  expect_checksum("its tensors", crc32c_of(file.subspan(header.size())),
                  checksum_in(header.substr(place, kDigits)));
}

}  // namespace plait
