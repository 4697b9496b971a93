#include "plait/io/inside/tar/tar_reader.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/compressed/compression.h"
#include "plait/io/inside/gzip.h"

namespace plait {

struct TarReader::Header {
  size_t position = 0;
  std::string name = {};
  size_t size = 0;
  char type = '0';
};

namespace {

constexpr size_t kTarBlock = 512;

// Types of headers that extend the next one: pax headers ('X': Solaris's), GNU's long names.
constexpr std::string_view kTarExtensions = "xXgLK";
// Types without the content of a file: links, devices, folders, pipes; of Solaris access rights,
// attributes and inodes; of GNU lists of folders, parts of other volumes, old names, labels. POSIX
// says that members of unknown types are regular files.
constexpr std::string_view kTarSkipped = "123456AEIDMNV";
constexpr char kTarSparse = 'S';

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
  bool is_sparse = false;
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
    values.is_sparse |= key.starts_with("GNU.sparse.");
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

// ---- The archive: bytes in memory, or a stream.

class TarReader::Source {
 public:
  virtual ~Source() = default;
  virtual size_t position() const = 0;
  // These are less at the end of the archive. Valid until the next call.
  virtual std::span<const std::byte> take(size_t most) = 0;
  virtual size_t skip(size_t most) = 0;
  virtual std::optional<size_t> left() const { return std::nullopt; }
};

class TarReader::BytesSource : public Source {
 public:
  BytesSource(std::span<const std::byte> archive, size_t position)
      : archive_(archive), position_(position) {}

  size_t position() const override { return position_; }
  std::span<const std::byte> take(size_t most) override {
    const auto bytes = archive_.subspan(archive_.size() - *left()).first(std::min(most, *left()));
    position_ += bytes.size();
    return bytes;
  }
  size_t skip(size_t most) override { return take(most).size(); }
  std::optional<size_t> left() const override {
    return position_ < archive_.size() ? archive_.size() - position_ : 0;
  }

 private:
  std::span<const std::byte> archive_;
  size_t position_;
};

class TarReader::GzipSource : public Source {
 public:
  explicit GzipSource(GzipReader& archive) : archive_(archive) {}

  size_t position() const override { return archive_.position(); }
  std::span<const std::byte> take(size_t most) override {
    taken_.clear();
    archive_.append_some(taken_, most);
    return taken_;
  }
  size_t skip(size_t most) override { return archive_.skip_some(most); }

 private:
  GzipReader& archive_;
  std::vector<std::byte> taken_;
};

TarReader::TarReader(std::span<const std::byte> archive, size_t position)
    : source_(std::make_unique<BytesSource>(archive, position)) {}
TarReader::TarReader(GzipReader& archive) : source_(std::make_unique<GzipSource>(archive)) {}
TarReader::~TarReader() = default;

// ---- Members.

size_t TarReader::position() const {
  return source_->position() + (member_ ? member_->size : 0) + padding_;
}

std::optional<TarReader::Header> TarReader::header() {
  const size_t position = source_->position();
  const auto bytes = source_->take(kTarBlock);
  if (position == 0) expect_not_compressed(bytes);
  if (bytes.size() < kTarBlock) {
    throw ParseError("byte {}: the archive ends early", position + bytes.size());
  }
  const std::string_view block = characters_of(bytes);
  if (std::ranges::all_of(block, [](char byte) { return byte == 0; })) return std::nullopt;
  const std::optional<uint64_t> size = tar_number(block, 124, 12);
  if (!has_tar_checksum(block) || !size) {
    throw ParseError("byte {}: this is not the header of a tar archive", position);
  }
  Header header{.position = position, .size = *size, .type = block[156]};
  const std::string_view prefix =
      block.substr(257, 6) == std::string_view("ustar\0", 6) ? tar_field(block, 345, 155) : "";
  header.name = std::string(prefix) + (prefix.empty() ? "" : "/");
  header.name += tar_field(block, 0, 100);
  return header;
}

void TarReader::refuse_content(size_t available) const {
  throw ParseError("byte {}: the member {} has {} bytes, {} are left", member_->position,
                   member_->name, member_->size, available);
}

// The padding after the last member may be missing.
void TarReader::begin_content(const Header& header) {
  member_ = std::make_unique<Header>(header);
  const auto left = source_->left();
  if (left && header.size > *left) refuse_content(*left);
  const size_t most = left.value_or(SIZE_MAX) - header.size;
  padding_ = std::min((kTarBlock - header.size % kTarBlock) % kTarBlock, most);
}

void TarReader::pass_content() {
  if (member_) {
    const size_t size = member_->size;
    if (const size_t passed = source_->skip(size); passed < size) refuse_content(passed);
    member_ = nullptr;
  }
  source_->skip(std::exchange(padding_, 0));
}

void TarReader::read_content(std::vector<std::byte>& into) {
  if (!member_) return;
  constexpr size_t kMostTaken = size_t{1} << 20;
  for (size_t done = 0; done < member_->size;) {
    const auto part = source_->take(std::min(kMostTaken, member_->size - done));
    if (part.empty()) refuse_content(done);
    into.insert(into.end(), part.begin(), part.end());
    done += part.size();
  }
  member_ = nullptr;
}

std::optional<TarMember> TarReader::next() {
  pass_content();
  PaxValues values;
  std::optional<std::string> long_name;
  while (std::optional<Header> found = header()) {
    const bool extends = kTarExtensions.find(found->type) != std::string_view::npos;
    if (!extends && values.size) found->size = *values.size;
    const size_t begin = source_->position();
    begin_content(*found);
    if (extends) {  // those of all members ('g') say nothing of names and sizes
      std::vector<std::byte> content;
      read_content(content);
      const std::string_view text = characters_of(content);
      if (found->type == 'x' || found->type == 'X') read_pax(text, values, begin);
      if (found->type == 'L') long_name = without_end(text);
    }
    if (!extends && kTarSkipped.find(found->type) == std::string_view::npos) {
      std::string name = values.path ? *values.path : long_name.value_or(found->name);
      if (values.is_sparse || found->type == kTarSparse) {
        throw ParseError("byte {}: {} is stored as a sparse file", found->position, name)
            .hint("tar without --sparse writes whole files");
      }
      return TarMember{std::move(name), begin, found->size};
    }
    pass_content();
    if (extends) continue;
    values = {};
    long_name.reset();
  }
  return std::nullopt;
}

}  // namespace plait
