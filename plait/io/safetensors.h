// safetensors files: tensors by name behind a header of JSON, the format of most published weights.
// One file, or several shards with an index, `model.safetensors.index.json`, as Hugging Face
// writes.
//
//   const Safetensors file = Safetensors::open("model.safetensors");
//   for (const std::string& name : file.names()) fmt::print("{} {}\n", name,
//   file.info(name).dtype); const Array weight = file.array("head.weight");
//
// A file is checked as the reference implementation, version 0.8.0, checks it, and as the format
// demands where that one does not: the header begins with '{', and no name appears twice in it.
// Each dtype of Plait has its name in the format, except c128 and keys: these are written as F64
// and U64 with a last axis of size 2, and an entry `plait.dtypes` of the metadata lists them.
// Tensors of dtypes that Plait lacks (F4, F6_E2M3, F6_E3M2, F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ) are
// listed, but a TypeError as arrays: `bytes` reads them as u8, `values` those of F8 as f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/tensor/memory/array.h"

namespace plait {

class SafetensorsSource;

// A tensor as the header describes it.
struct SafetensorsInfo {
  std::string dtype;  // as in the file: "F32", "BF16", "F8_E8M0"
  Sizes sizes = {};
  uint64_t begin = 0, end = 0;  // begin and end of its bytes in its file
};

// The text that a file holds besides its tensors.
using SafetensorsMetadata = std::map<std::string, std::string>;

// An open file. Only its header is read; the pages of a tensor are read when its elements are first
// touched. Copies share the file, and arrays keep it open. Replacing the file, as save_safetensors
// does, is safe; truncating it in place is not. May be used from several threads.
class Safetensors {
 public:
  // A file, or an index (the name ends with ".index.json"), whose shards are opened when they are
  // needed. IoError if it cannot be read, ParseError if it is malformed.
  static Safetensors open(const std::string& path);
  // The bytes of a file, which must outlive it; arrays are copies.
  static Safetensors read(std::span<const std::byte> file);

  // In the order of their bytes in the file, or in that of the index.
  std::span<const std::string> names() const;
  bool contains(std::string_view name) const;
  // KeyError for an unknown name, here and below.
  const SafetensorsInfo& info(std::string_view name) const;
  // That of the first shard if there are several; nothing if the file has none.
  const std::optional<SafetensorsMetadata>& metadata() const;

  // Borrows the memory of the file; an unaligned tensor is copied.
  Array array(std::string_view name) const;
  // A part of each axis; axes without a slice are whole. Nothing else of the tensor is read.
  Array slice(std::string_view name, std::span<const Slice> slices) const;

  // The bytes of a tensor of any dtype, as u8. The last axis is in bytes; a tensor of F4 or F6 has
  // only one axis if its rows end within a byte.
  Array bytes(std::string_view name) const;
  // F8_E8M0, F8_E4M3FNUZ and F8_E5M2FNUZ as f32, which is exact. TypeError for other dtypes.
  Array values(std::string_view name) const;

 private:
  explicit Safetensors(std::shared_ptr<const SafetensorsSource> source)
      : source_(std::move(source)) {}

  std::shared_ptr<const SafetensorsSource> source_;
};

// All tensors of a file or an index.
std::map<std::string, Array> load_safetensors(const std::string& path);

struct SafetensorsOptions {
  std::optional<SafetensorsMetadata> metadata = std::nullopt;
  // The bytes of tensors that a file may hold; 0: any number. Larger sets of tensors are divided in
  // the order of their names: model.safetensors becomes model-00001-of-00003.safetensors, … and
  // model.safetensors.index.json. A tensor that is larger alone has a shard of its own.
  int64_t largest_shard = 0;
};

// Writes byte for byte what the reference writes; metadata in the order of its names. Files are
// replaced atomically, one by one, the index last. With `largest_shard`, earlier files of this name
// with another division are removed. Returns the file to open: the path, or that of the index.
// ValueError for an empty Array(), or a name that is not UTF-8.
std::string save_safetensors(const std::string& path, const std::map<std::string, Array>& arrays,
                             const SafetensorsOptions& options = {});

// The same, on the bytes of a file. Arrays that are read are copies.
std::map<std::string, Array> read_safetensors(std::span<const std::byte> file);
std::vector<std::byte> write_safetensors(
    const std::map<std::string, Array>& arrays,
    const std::optional<SafetensorsMetadata>& metadata = std::nullopt);

}  // namespace plait
