#include "plait/io/inside/gzip.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"

namespace plait {
namespace {

constexpr uint8_t kGzipMagic[] = {0x1f, 0x8b};
constexpr uint8_t kDeflate = 8;
constexpr uint64_t kTrailer = 8;  // checksum and length
enum Flag : uint8_t { header_checksum = 2, extra = 4, name = 8, comment = 16, reserved = 0xe0 };

void skip_text(FieldReader& fields) {
  while (fields.number<uint8_t>() != 0) continue;
}

// The compressed bytes between header and trailer.
std::span<const std::byte> content_of(std::span<const std::byte> file) {
  if (!is_gzip(file)) throw ParseError("byte 0: this is not a gzip file");
  FieldReader fields(file, std::size(kGzipMagic));
  if (fields.number<uint8_t>() != kDeflate) throw ParseError("byte 2: not compressed by deflate");
  const auto flags = fields.number<uint8_t>();
  if ((flags & reserved) != 0) throw ParseError("byte 3: unknown flags {:#x}", flags);
  fields.skip(6);  // time, compression level, system
  if ((flags & extra) != 0) fields.skip(fields.number<uint16_t>());
  if ((flags & name) != 0) skip_text(fields);
  if ((flags & comment) != 0) skip_text(fields);
  if ((flags & header_checksum) != 0) fields.skip(2);
  if (fields.left() < kTrailer) throw ParseError("byte {}: the file ends here", file.size());
  return fields.take(fields.left() - kTrailer);
}

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= std::size(kGzipMagic) &&
         std::ranges::equal(bytes.first(std::size(kGzipMagic)),
                            std::as_bytes(std::span(kGzipMagic)));
}

GzipReader::GzipReader(std::span<const std::byte> file)
    : file_(file), inflater_(content_of(file)) {}

void GzipReader::read(std::span<std::byte> into) {
  inflater_.read(into);
  length_ += into.size();
}

void GzipReader::expect_end() {
  inflater_.expect_end();
  FieldReader trailer(file_, file_.size() - kTrailer);
  if (trailer.number<uint32_t>() != inflater_.crc32()) {
    throw ParseError("the content does not have the checksum that the gzip file states");
  }
  if (trailer.number<uint32_t>() != static_cast<uint32_t>(length_)) {
    throw ParseError("the content is not as long as the gzip file states");
  }
}

}  // namespace plait
