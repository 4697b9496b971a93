#include "plait/io/inside/gzip.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"

namespace plait {
namespace {

constexpr uint8_t kGzipMagic[] = {0x1f, 0x8b};
constexpr uint8_t kDeflate = 8;
constexpr size_t kFirstPiece = size_t{1} << 16;
enum Flag : uint8_t { header_checksum = 2, extra = 4, name = 8, comment = 16, reserved = 0xe0 };

void skip_text(FieldReader& fields) {
  while (fields.number<uint8_t>() != 0) continue;
}

// Where the header of the member at a place ends.
size_t end_of_gzip_header(std::span<const std::byte> file, size_t begin) {
  FieldReader fields(file, begin + std::size(kGzipMagic));
  if (fields.number<uint8_t>() != kDeflate) {
    throw ParseError("byte {}: not compressed by deflate", begin + 2);
  }
  const auto flags = fields.number<uint8_t>();
  if ((flags & reserved) != 0) throw ParseError("byte {}: unknown flags {:#x}", begin + 3, flags);
  fields.skip(6);  // time, compression level, system
  if ((flags & extra) != 0) fields.skip(fields.number<uint16_t>());
  if ((flags & name) != 0) skip_text(fields);
  if ((flags & comment) != 0) skip_text(fields);
  if ((flags & header_checksum) != 0) {
    const uint32_t checksum = crc32_of(file.subspan(begin, fields.position() - begin)) & 0xffff;
    if (fields.number<uint16_t>() != checksum) {
      throw ParseError("byte {}: the header does not have the checksum that the gzip file states",
                       fields.position() - sizeof(uint16_t));
    }
  }
  return fields.position();
}

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= std::size(kGzipMagic) &&
         std::ranges::equal(bytes.first(std::size(kGzipMagic)),
                            std::as_bytes(std::span(kGzipMagic)));
}

bool is_gzip(std::string_view path, std::span<const std::byte> file) {
  if (is_gzip(file)) return true;
  std::string end(path.substr(path.size() - std::min<size_t>(path.size(), 4)));
  std::ranges::transform(end, end.begin(), [](unsigned char c) { return std::tolower(c); });
  if (end.ends_with(".gz") || end == ".tgz") {
    throw ParseError("byte 0: this is not a gzip file, which its name says it is")
        .hint(file.size() < std::size(kGzipMagic)
                  ? "the file was cut off: copy it again"
                  : "if it was decompressed already, give it a name without .gz");
  }
  return false;
}

GzipReader::GzipReader(std::span<const std::byte> file) : file_(file) {
  if (!is_gzip(file)) throw ParseError("byte 0: this is not a gzip file");
  begin_member(0);
}

void GzipReader::begin_member(size_t at) {
  member_ = at;
  deflated_ = end_of_gzip_header(file_, at);
  length_ = 0;
  inflater_.emplace(file_.subspan(deflated_));
}

// Zeros after the last member are padding.
void GzipReader::end_member() {
  FieldReader trailer(file_, deflated_ + inflater_->taken());
  if (trailer.number<uint32_t>() != inflater_->crc32()) {
    throw ParseError("byte {}: the content does not have the checksum that the gzip file states",
                     trailer.position() - sizeof(uint32_t));
  }
  if (trailer.number<uint32_t>() != static_cast<uint32_t>(length_)) {
    throw ParseError("byte {}: the content is not as long as the gzip file states",
                     trailer.position() - sizeof(uint32_t));
  }
  inflater_.reset();
  const auto rest = file_.subspan(trailer.position());
  if (is_gzip(rest)) {
    begin_member(trailer.position());
  } else if (!std::ranges::all_of(rest, [](std::byte byte) { return byte == std::byte{0}; })) {
    throw ParseError("byte {}: expected the end of the gzip file, or another member",
                     trailer.position());
  }
}

size_t GzipReader::read_some(std::span<std::byte> into) {
  size_t done = 0;
  while (done < into.size() && inflater_) {
    const auto rest = into.subspan(done);
    size_t count = 0;
    try {
      count = inflater_->read_some(rest);
    } catch (ParseError& error) {
      error.prepend(fmt::format("the gzip member at byte {}: ", member_));
      throw;
    }
    done += count;
    length_ += count;
    position_ += count;
    if (count < rest.size()) end_member();
  }
  return done;
}

size_t GzipReader::append_some(std::vector<std::byte>& into, size_t most) {
  const size_t before = into.size();
  size_t wanted = 0, count = 0;
  while (count == wanted && count < most) {
    wanted = std::min(most, std::max(kFirstPiece, 2 * count));
    into.resize(before + wanted);
    count += read_some(std::span(into).subspan(before + count));
  }
  into.resize(before + count);
  return count;
}

size_t GzipReader::skip_some(size_t most) {
  std::array<std::byte, 1 << 14> scratch;
  size_t count = 0;
  while (count < most) {
    const size_t wanted = std::min(most - count, scratch.size());
    const size_t read = read_some(std::span(scratch).first(wanted));
    count += read;
    if (read < wanted) break;
  }
  return count;
}

void GzipReader::read(std::span<std::byte> into) {
  if (const size_t count = read_some(into); count != into.size()) {
    throw ParseError("expected {} bytes, the compressed ones are {}", into.size(), count);
  }
}

void GzipReader::expect_end() {
  if (skip_some(1) != 0) throw ParseError("the gzip file has more content than expected");
}

std::vector<std::byte> gunzipped(std::span<const std::byte> file) {
  std::vector<std::byte> content;
  GzipReader(file).append_some(content, SIZE_MAX / 2);
  return content;
}

}  // namespace plait
