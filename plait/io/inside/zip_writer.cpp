#include <algorithm>
#include <bit>
#include <concepts>
#include <type_traits>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/deflate.h"
#include "plait/io/inside/zip.h"
#include "plait/io/inside/zip_format.h"

namespace plait {
namespace {

constexpr uint64_t kMemberAlignment = 64;  // alignment of stored members
constexpr uint64_t kNoMore = zip::kElsewhere<uint32_t>;
constexpr uint16_t kVersion = 20,
                   kVersion64 = 45;  // versions of the format: 2.0 has deflate, 4.5 zip64
constexpr uint16_t kMadeOnUnix = 3 << 8;
constexpr uint16_t kTime = 0, kDate = 1 << 5 | 1;  // 1 January 1980, so that files are reproducible
constexpr uint32_t kFileMode = 0100644u << 16;     // a regular file with rw-r--r--

class Fields {
 public:
  template <std::unsigned_integral T>
  Fields& number(std::type_identity_t<T> value) {
    append_number<T>(bytes_, value);
    return *this;
  }
  Fields& text(std::string_view characters) {
    const auto added = bytes_of(characters);
    bytes_.insert(bytes_.end(), added.begin(), added.end());
    return *this;
  }
  Fields& append(const Fields& other) {
    bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
    return *this;
  }
  void zeros(size_t count) { bytes_.resize(bytes_.size() + count); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

uint32_t at_most_32(uint64_t value) { return static_cast<uint32_t>(std::min(value, kNoMore)); }

// Deflated data may be slightly larger than the input, so the limit is below 2^32.
bool is_large(uint64_t size) { return size + size / 1000 + 1024 >= kNoMore; }

// True if the lead byte of each sequence above 0x7F gives the correct length.
bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const int ones = std::countl_one(static_cast<unsigned char>(text[i]));
    if (ones == 1 || ones > 4) return false;
    const auto length = static_cast<size_t>(std::max(ones, 1));
    const std::string_view rest = text.substr(i + 1, length - 1);
    const bool continues = rest.size() == length - 1 && std::ranges::all_of(rest, [](char c) {
                             return std::countl_one(static_cast<unsigned char>(c)) == 1;
                           });
    if (!continues) return false;
    i += length;
  }
  return true;
}

// Names that are not UTF-8 are kept as bytes; readers interpret them in an old code page.
uint16_t flags_of(std::string_view name, ZipMethod method) {
  return static_cast<uint16_t>((is_utf8(name) ? zip::kNameIsUtf8 : 0) |
                               (method == ZipMethod::stored ? 0 : zip::kHasDescriptor));
}

void check_name(std::string_view name) {
  if (name.size() <= zip::kElsewhere<uint16_t> && name.find('\0') == std::string_view::npos) return;
  std::string quoted;
  print_quoted(quoted, name.substr(0, 80));
  throw ValueError(
      "a member of an archive cannot be named {}: {}", quoted,
      name.find('\0') == std::string_view::npos ? "it is too long" : "there is a zero byte in it");
}

}  // namespace

void ZipWriter::write(std::span<const std::byte> bytes) {
  sink_(bytes);
  position_ += bytes.size();
}

void ZipWriter::add(std::string_view name, std::span<const std::span<const std::byte>> parts,
                    ZipMethod method) {
  check_name(name);
  Entry& entry = entries_.emplace_back(Entry{std::string(name), method, position_});
  for (const auto part : parts) {
    entry.size += part.size();
    entry.crc32 = crc32_of(part, entry.crc32);
  }
  if (method == ZipMethod::stored) {
    entry.deflated_size = entry.size;
    write_local_header(entry);
    for (const auto part : parts) write(part);
  } else {
    write_local_header(entry);
    entry.deflated_size = deflate_into(sink_, parts);
    position_ += entry.deflated_size;
    write_descriptor(entry);
  }
}

// The sizes and checksum are zero if a data descriptor follows the bytes.
void ZipWriter::write_local_header(const Entry& entry) {
  const bool is_stored = entry.method == ZipMethod::stored, large = is_large(entry.size);
  const uint64_t size = is_stored ? entry.size : 0;
  Fields extra;
  if (large) {
    extra.number<uint16_t>(zip::kZip64Field).number<uint16_t>(16);
    extra.number<uint64_t>(size).number<uint64_t>(size);
  }
  if (is_stored) {
    const uint64_t begin = position_ + zip::kLocalHeaderBytes + entry.name.size() +
                           extra.bytes().size() + zip::kExtraFieldBytes;
    const uint64_t padding = (kMemberAlignment - begin % kMemberAlignment) % kMemberAlignment;
    extra.number<uint16_t>(zip::kAlignmentField).number<uint16_t>(static_cast<uint16_t>(padding));
    extra.zeros(padding);
  }
  Fields header;
  header.number<uint32_t>(zip::kLocalHeader).number<uint16_t>(large ? kVersion64 : kVersion);
  header.number<uint16_t>(flags_of(entry.name, entry.method));
  header.number<uint16_t>(static_cast<uint16_t>(entry.method));
  header.number<uint16_t>(kTime).number<uint16_t>(kDate);
  header.number<uint32_t>(is_stored ? entry.crc32 : 0);
  header.number<uint32_t>(large ? kNoMore : size).number<uint32_t>(large ? kNoMore : size);
  header.number<uint16_t>(static_cast<uint16_t>(entry.name.size()));
  header.number<uint16_t>(static_cast<uint16_t>(extra.bytes().size()));
  header.text(entry.name).append(extra);
  write(header.bytes());
}

void ZipWriter::write_descriptor(const Entry& entry) {
  Fields descriptor;
  descriptor.number<uint32_t>(zip::kDescriptor).number<uint32_t>(entry.crc32);
  if (is_large(entry.size)) {
    descriptor.number<uint64_t>(entry.deflated_size).number<uint64_t>(entry.size);
  } else {
    descriptor.number<uint32_t>(static_cast<uint32_t>(entry.deflated_size));
    descriptor.number<uint32_t>(static_cast<uint32_t>(entry.size));
  }
  write(descriptor.bytes());
}

void ZipWriter::write_central_header(const Entry& entry) {
  Fields far;
  for (const uint64_t number : {entry.size, entry.deflated_size, entry.position}) {
    if (number >= kNoMore) far.number<uint64_t>(number);
  }
  Fields extra;
  if (!far.bytes().empty()) {
    extra.number<uint16_t>(zip::kZip64Field);
    extra.number<uint16_t>(static_cast<uint16_t>(far.bytes().size())).append(far);
  }
  const uint16_t version = extra.bytes().empty() && !is_large(entry.size) ? kVersion : kVersion64;
  Fields header;
  header.number<uint32_t>(zip::kCentralHeader);
  header.number<uint16_t>(kMadeOnUnix | version).number<uint16_t>(version);
  header.number<uint16_t>(flags_of(entry.name, entry.method));
  header.number<uint16_t>(static_cast<uint16_t>(entry.method));
  header.number<uint16_t>(kTime).number<uint16_t>(kDate).number<uint32_t>(entry.crc32);
  header.number<uint32_t>(at_most_32(entry.deflated_size)).number<uint32_t>(at_most_32(entry.size));
  header.number<uint16_t>(static_cast<uint16_t>(entry.name.size()));
  header.number<uint16_t>(static_cast<uint16_t>(extra.bytes().size()));
  header.zeros(2 + 2 + 2);  // comment length, disk number, attributes
  header.number<uint32_t>(kFileMode).number<uint32_t>(at_most_32(entry.position));
  header.text(entry.name).append(extra);
  write(header.bytes());
}

void ZipWriter::finish() {
  const uint64_t directory = position_;
  for (const Entry& entry : entries_) write_central_header(entry);
  const uint64_t end = position_, bytes = end - directory, members = entries_.size();
  Fields record;
  if (members >= zip::kElsewhere<uint16_t> || bytes >= kNoMore || directory >= kNoMore) {
    record.number<uint32_t>(zip::kEnd64).number<uint64_t>(zip::kEnd64Bytes - 12);
    record.number<uint16_t>(kMadeOnUnix | kVersion64).number<uint16_t>(kVersion64);
    record.zeros(4 + 4);  // the numbers of this disk, and of the directory's
    record.number<uint64_t>(members).number<uint64_t>(members);
    record.number<uint64_t>(bytes).number<uint64_t>(directory);
    record.number<uint32_t>(zip::kEnd64Locator).number<uint32_t>(0);
    record.number<uint64_t>(end).number<uint32_t>(1);
  }
  const auto few = static_cast<uint16_t>(std::min<uint64_t>(members, zip::kElsewhere<uint16_t>));
  record.number<uint32_t>(zip::kEnd);
  record.zeros(2 + 2);
  record.number<uint16_t>(few).number<uint16_t>(few);
  record.number<uint32_t>(at_most_32(bytes)).number<uint32_t>(at_most_32(directory));
  record.number<uint16_t>(0);  // length of the comment
  write(record.bytes());
}

}  // namespace plait
