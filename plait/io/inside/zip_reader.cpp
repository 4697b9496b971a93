#include <algorithm>
#include <utility>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/deflate.h"
#include "plait/io/inside/zip.h"
#include "plait/io/inside/zip_format.h"

namespace plait {
namespace {

using Bytes = std::span<const std::byte>;

// ---- The end of the archive.

struct Directory {
  uint64_t members = 0;
  uint64_t bytes = 0;
  uint64_t begin = 0;
  uint64_t limit = 0;  // the beginning of what follows the directory
};

void expect_signature(FieldReader& reader, uint32_t signature, std::string_view what) {
  const uint64_t position = reader.position();
  if (reader.left() < sizeof signature || reader.number<uint32_t>() != signature) {
    throw ParseError("byte {}: expected {} of a zip archive", position, what);
  }
}

// The end record is followed by a comment whose only mark is its length.
uint64_t position_of_end(Bytes archive) {
  const size_t longest = zip::kEndBytes + zip::kElsewhere<uint16_t>;
  for (size_t length = zip::kEndBytes; length <= std::min(archive.size(), longest); ++length) {
    FieldReader reader(archive, archive.size() - length);
    if (reader.number<uint32_t>() != zip::kEnd) continue;
    reader.skip(16);
    if (reader.number<uint16_t>() == length - zip::kEndBytes) return archive.size() - length;
  }
  throw ParseError("byte {}: this is not a zip archive, or its end is missing", archive.size());
}

void expect_one_disk(uint64_t position, uint64_t disks) {
  if (disks != 0) throw ParseError("byte {}: the archive is one of several parts", position);
}

Directory directory64(Bytes archive, uint64_t locator) {
  FieldReader reader(archive, locator + 4);
  expect_one_disk(locator, reader.number<uint32_t>());
  const auto position = reader.number<uint64_t>();
  FieldReader end(archive, position);
  expect_signature(end, zip::kEnd64, "the zip64 record at the end");
  end.skip(8 + 2 + 2);  // length and versions
  expect_one_disk(position, end.number<uint32_t>() | end.number<uint32_t>());
  end.skip(8);  // members in this part
  Directory directory;
  directory.members = end.number<uint64_t>();
  directory.bytes = end.number<uint64_t>();
  directory.begin = end.number<uint64_t>();
  directory.limit = position;
  return directory;
}

Directory find_directory(Bytes archive) {
  const uint64_t position = position_of_end(archive);
  Directory directory;
  const bool has_locator =
      position >= zip::kEnd64LocatorBytes &&
      FieldReader(archive, position - zip::kEnd64LocatorBytes).number<uint32_t>() ==
          zip::kEnd64Locator;
  if (has_locator) {
    directory = directory64(archive, position - zip::kEnd64LocatorBytes);
  } else {
    FieldReader end(archive, position + 4);
    expect_one_disk(position, end.number<uint16_t>() | end.number<uint16_t>());
    end.skip(2);
    directory.members = end.number<uint16_t>();
    directory.bytes = end.number<uint32_t>();
    directory.begin = end.number<uint32_t>();
    directory.limit = position;
  }
  const uint64_t limit = directory.limit;
  if (directory.begin > limit || directory.bytes > limit - directory.begin ||
      directory.members > directory.bytes / zip::kCentralHeaderBytes) {
    throw ParseError(
        "byte {}: a directory of {} members in {} bytes from byte {}, before which {} "
        "bytes are",
        position, directory.members, directory.bytes, directory.begin, limit);
  }
  return directory;
}

// ---- Members.

struct Entry {
  ZipMember member;
  uint64_t position = 0;  // position of its local header
  uint64_t begin = 0;     // position of its bytes
  uint64_t deflated_size = 0;
};

// The values that do not fit into the fields of a header are in the extra field, in this order.
void read_zip64(Bytes extra, Entry& entry, uint64_t place) {
  FieldReader reader(extra);
  while (reader.left() >= 4) {
    const auto kind = reader.number<uint16_t>();
    const auto length = reader.number<uint16_t>();
    if (length > reader.left()) break;
    FieldReader field(reader.take(length));
    if (kind != zip::kZip64Field) continue;
    for (uint64_t* number : {&entry.member.size, &entry.deflated_size, &entry.position}) {
      if (*number == zip::kElsewhere<uint32_t> && field.left() >= 8) {
        *number = field.number<uint64_t>();
      }
    }
    return;
  }
  if (reader.left() != 0) throw ParseError("byte {}: an extra field that is cut short", place);
}

void check_method(uint16_t flags, const Entry& entry) {
  const ZipMember& member = entry.member;
  if (member.name.find('\0') != std::string::npos) throw ParseError("a zero byte in the name");
  if (flags & zip::kIsEncrypted) throw ParseError("it is encrypted");
  if (member.method == ZipMethod::stored && member.size != entry.deflated_size) {
    throw ParseError("it is stored, but {} bytes would be {}", entry.deflated_size, member.size);
  }
  if (member.method == ZipMethod::deflated && member.size / kMostInflation > entry.deflated_size) {
    throw ParseError("{} deflated bytes cannot inflate to {}", entry.deflated_size, member.size);
  }
  if (member.method != ZipMethod::stored && member.method != ZipMethod::deflated) {
    throw ParseError(
        "it is compressed by the unknown method {}; known methods are 0 (stored) and 8 (deflated)",
        static_cast<unsigned>(member.method));
  }
}

Entry read_central_header(FieldReader& reader) {
  const uint64_t place = reader.position();
  expect_signature(reader, zip::kCentralHeader, "a header in the directory");
  reader.skip(2 + 2);  // versions
  const auto flags = reader.number<uint16_t>();
  const auto method = reader.number<uint16_t>();
  reader.skip(2 + 2);  // time and date
  Entry entry;
  entry.member.method = static_cast<ZipMethod>(method);
  entry.member.crc32 = reader.number<uint32_t>();
  entry.deflated_size = reader.number<uint32_t>();
  entry.member.size = reader.number<uint32_t>();
  const auto name = reader.number<uint16_t>(), extra = reader.number<uint16_t>(),
             comment = reader.number<uint16_t>();
  reader.skip(2 + 2 + 4);  // part and attributes
  entry.position = reader.number<uint32_t>();
  entry.member.name = characters_of(reader.take(name));
  read_zip64(reader.take(extra), entry, place);
  reader.skip(comment);
  try {
    check_method(flags, entry);
  } catch (Error& error) {
    error.prepend(fmt::format("byte {}: member {}: ", place, in_quotes(entry.member.name)));
    throw;
  }
  return entry;
}

// Finds where the bytes of a member begin; they must end before the directory.
uint64_t find_bytes(Bytes archive, const Directory& directory, const Entry& entry) {
  FieldReader reader(archive.first(directory.begin), entry.position);
  expect_signature(reader, zip::kLocalHeader, "the header of a member");
  reader.skip(2 + 2 + 2 + 2 + 2);  // version, flags, method, time and date
  reader.skip(4 + 4 + 4);          // checksum and sizes, which may be missing there
  const auto name = reader.number<uint16_t>(), extra = reader.number<uint16_t>();
  if (characters_of(reader.take(name)) != entry.member.name) {
    throw ParseError("byte {}: the member has another name in the directory: {}", entry.position,
                     in_quotes(entry.member.name));
  }
  reader.skip(extra);
  const uint64_t begin = reader.position();
  reader.skip(entry.deflated_size);
  return begin;
}

// Overlapping members are refused: their bytes would be counted several times.
void expect_apart(const std::vector<Entry>& entries) {
  std::vector<std::pair<uint64_t, uint64_t>> places;
  places.reserve(entries.size());
  for (const Entry& entry : entries) {
    places.emplace_back(entry.position, entry.begin + entry.deflated_size);
  }
  std::ranges::sort(places);
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i - 1].second > places[i].first) {
      throw ParseError("byte {}: two members share their bytes", places[i].first);
    }
  }
}

}  // namespace

std::vector<ZipMember> read_zip(Bytes archive) {
  const Directory directory = find_directory(archive);
  FieldReader reader(archive.first(directory.begin + directory.bytes), directory.begin);
  std::vector<Entry> entries;
  entries.reserve(directory.members);
  for (uint64_t i = 0; i < directory.members; ++i) {
    Entry& entry = entries.emplace_back(read_central_header(reader));
    entry.begin = find_bytes(archive, directory, entry);
    entry.member.bytes = archive.subspan(entry.begin, entry.deflated_size);
  }
  if (reader.left() != 0) {
    throw ParseError("byte {}: {} unexpected bytes after the last header in the directory",
                     reader.position(), reader.left());
  }
  expect_apart(entries);
  std::vector<ZipMember> members;
  members.reserve(entries.size());
  for (Entry& entry : entries) members.push_back(std::move(entry.member));
  return members;
}

}  // namespace plait
