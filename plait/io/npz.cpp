#include "plait/io/npz.h"

#include <memory>
#include <set>
#include <utility>

#include "plait/core/error.h"
#include "plait/core/inside/system/with_path.h"
#include "plait/core/text.h"
#include "plait/io/inside/deflate.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/npy_array.h"
#include "plait/io/inside/npy_header.h"
#include "plait/io/inside/npz_member.h"
#include "plait/io/inside/zip.h"

namespace plait {
namespace {

using Arrays = std::map<std::string, Array>;
using Bytes = std::span<const std::byte>;

constexpr std::string_view kEnding = ".npy";

std::string name_of_array(std::string_view member) {
  if (member.ends_with(kEnding)) member.remove_suffix(kEnding.size());
  return std::string(member);
}

void expect_checksum(const ZipMember& member, uint32_t found) {
  if (found == member.crc32) return;
  throw ParseError("the checksum of its bytes is {:08x}, not {:08x}: they are damaged", found,
                   member.crc32);
}

Array inflated(const ZipMember& member) {
  Inflater inflater(member.bytes);
  Array array = npy_array(inflater, member.size);
  inflater.expect_end();
  expect_checksum(member, inflater.crc32());
  return array;
}

// The members without folders.
std::vector<ZipMember> members_of(Bytes archive) {
  std::vector<ZipMember> members = read_zip(archive);
  std::erase_if(members,
                [](const ZipMember& each) { return each.name.ends_with('/') && each.size == 0; });
  std::set<std::string> names;
  for (const ZipMember& each : members) {
    const auto [name, is_new] = names.insert(name_of_array(each.name));
    if (!is_new) throw ParseError("two arrays are named {}", in_quotes(*name));
  }
  return members;
}

Arrays read_arrays(Bytes archive, const std::shared_ptr<const void>& owner) {
  Arrays arrays;
  for (const ZipMember& member : members_of(archive)) {
    arrays.emplace(name_of_array(member.name), npz_member(member, owner));
  }
  return arrays;
}

Arrays read_named(Bytes archive, const std::shared_ptr<const void>& owner,
                  std::span<const std::string> names) {
  std::map<std::string, ZipMember> members;
  std::vector<std::string> known;
  for (ZipMember& member : members_of(archive)) {
    known.push_back(name_of_array(member.name));
    members.emplace(known.back(), std::move(member));
  }
  Arrays arrays;
  for (const std::string& name : names) {
    const auto member = members.find(name);
    if (member == members.end()) {
      const std::string near = nearest_name(name, known);
      throw KeyError("unknown array {}", in_quotes(name))
          .hint(near.empty() ? "" : fmt::format("did you mean {}?", in_quotes(near)));
    }
    arrays.emplace(name, npz_member(member->second, owner));
  }
  return arrays;
}

// Calls the work with the bytes of the file and what keeps them; errors name the file.
template <class Work>
auto reading(const std::string& path, const Work& work) {
  const auto file = std::make_shared<const InputFile>(path);
  return with_path(path, [&] { return work(file->bytes(), file); });
}

void write_arrays(const ByteSink& sink, const Arrays& arrays, bool compressed) {
  ZipWriter writer(sink);
  for (const auto& [name, array] : arrays) {
    if (!array) throw ValueError("the array to save as {} is empty", in_quotes(name));
    const Array dense = array.on_host().contiguous();
    const std::string header = npy_header(dense.dtype(), dense.sizes());
    const Bytes parts[] = {bytes_of(std::string_view(header)), bytes_of(dense)};
    writer.add(name + std::string(kEnding), parts,
               compressed ? ZipMethod::deflated : ZipMethod::stored);
  }
  writer.finish();
}

}  // namespace

Array npz_member(const ZipMember& member, std::shared_ptr<const void> owner) {
  try {
    if (member.method == ZipMethod::deflated) return inflated(member);
    expect_checksum(member, crc32_of(member.bytes));
    return npy_array(member.bytes, std::move(owner));
  } catch (Error& error) {
    error.prepend(fmt::format("member {}: ", in_quotes(member.name)));
    throw;
  }
}

Arrays load_npz(const std::string& path) {
  return reading(path, [](Bytes archive, const auto& file) { return read_arrays(archive, file); });
}

Arrays load_npz(const std::string& path, std::span<const std::string> names) {
  return reading(path,
                 [&](Bytes archive, const auto& file) { return read_named(archive, file, names); });
}

std::vector<std::string> npz_names(const std::string& path) {
  return reading(path, [](Bytes archive, const auto&) {
    std::vector<std::string> names;
    for (const ZipMember& each : members_of(archive)) names.push_back(name_of_array(each.name));
    return names;
  });
}

void save_npz(const std::string& path, const Arrays& arrays, bool compressed) {
  OutputFile file(path);
  write_arrays([&](Bytes bytes) { file.write(bytes); }, arrays, compressed);
  file.finish();
}

Arrays read_npz(Bytes bytes) { return read_arrays(bytes, nullptr); }

std::vector<std::byte> write_npz(const Arrays& arrays, bool compressed) {
  std::vector<std::byte> archive;
  write_arrays([&](Bytes bytes) { archive.insert(archive.end(), bytes.begin(), bytes.end()); },
               arrays, compressed);
  return archive;
}

}  // namespace plait
