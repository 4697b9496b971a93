// Zip archives: stored or deflated members of any size (zip64), with checksums.
//
// A member is a local header followed by its bytes. The central directory after all members repeats
// the headers, with complete sizes and checksums, and is what the reader uses; the record at the
// end of the file has its position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/io/inside/byte_fields.h"

namespace plait {

enum class ZipMethod : uint16_t { stored = 0, deflated = 8 };

struct ZipMember {
  std::string name;
  ZipMethod method = ZipMethod::stored;
  uint32_t crc32 = 0;
  uint64_t size = 0;                      // uncompressed
  std::span<const std::byte> bytes = {};  // as stored in the archive
};

// In the order of the central directory. Members must not overlap, and their sizes must be possible
// for their methods, so all together they have at most kMostInflation times the bytes of the
// archive. ParseError for a malformed archive.
std::vector<ZipMember> read_zip(std::span<const std::byte> archive);

// Writes an archive sequentially, without seeking.
class ZipWriter {
 public:
  explicit ZipWriter(ByteSink sink) : sink_(std::move(sink)) {}

  // Adds a member whose content is the concatenated parts. Stored content is aligned to 64 bytes.
  // ValueError for a name that is too long or contains a zero byte.
  void add(std::string_view name, std::span<const std::span<const std::byte>> parts,
           ZipMethod method);
  void finish();  // writes the central directory

 private:
  struct Entry {
    std::string name;
    ZipMethod method = ZipMethod::stored;
    uint64_t position = 0;  // position of the local header
    uint64_t size = 0;
    uint64_t deflated_size = 0;
    uint32_t crc32 = 0;
  };
  void write(std::span<const std::byte> bytes);
  void write_local_header(const Entry& entry);
  void write_descriptor(const Entry& entry);
  void write_central_header(const Entry& entry);

  ByteSink sink_;
  uint64_t position_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace plait
