#include "plait/io/inside/gguf/gguf_file.h"

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/core/text.h"
#include "plait/io/inside/element_bytes.h"
#include "plait/io/inside/file.h"

namespace plait {
namespace {

constexpr int64_t kDequantizeGrain = 1 << 14;  // elements worth a thread

Array dequantized(const GgufType& type, const Sizes& sizes, std::span<const std::byte> bytes) {
  Array result = Array::empty(DType::f32, sizes);
  const auto* blocks = reinterpret_cast<const uint8_t*>(bytes.data());
  auto* elements = reinterpret_cast<float*>(result.writable_data());
  const auto count = static_cast<int64_t>(bytes.size() / type.bytes);
  parallel_for(count, kDequantizeGrain / type.elements, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      type.dequantize(blocks + i * type.bytes, elements + i * type.elements);
    }
  });
  return result;
}

template <class Entries>
const auto* entry_of(const std::unordered_map<std::string_view, size_t>& places,
                     std::string_view name, const Entries& entries) {
  const auto place = places.find(name);
  return place == places.end() ? nullptr : &entries[place->second];
}

}  // namespace

GgufFile::GgufFile(const std::string& path) : path_(path) {
  const auto file = std::make_shared<const InputFile>(path);
  bytes_ = file->bytes();
  owner_ = file;
  try {
    read_header();
  } catch (Error& error) {
    error.prepend(path + ": ");
    throw;
  }
}

GgufFile::GgufFile(std::span<const std::byte> bytes) : bytes_(bytes) { read_header(); }

void GgufFile::read_header() {
  header_ = parse_gguf_header(bytes_);
  for (size_t i = 0; i < header_.metadata.size(); ++i) {
    values_.emplace(header_.metadata[i].first, i);
  }
  for (size_t i = 0; i < header_.tensors.size(); ++i) {
    tensors_.emplace(header_.tensors[i].name, i);
    names_.push_back(header_.tensors[i].name);
  }
}

const GgufValue* GgufFile::find_value(std::string_view key) const {
  const auto* entry = entry_of(values_, key, header_.metadata);
  return entry ? &entry->second : nullptr;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  return entry_of(tensors_, name, header_.tensors);
}

Array GgufFile::array_of(const GgufTensor& tensor) const {
  const auto bytes = bytes_.subspan(tensor.info.begin, tensor.info.end - tensor.info.begin);
  if (tensor.type->dtype) {
    return array_of_bytes(*tensor.type->dtype, tensor.info.sizes, bytes, owner_);
  }
  if (tensor.type->dequantize) return dequantized(*tensor.type, tensor.info.sizes, bytes);
  throw TypeError("it is {}, which is not read; {} are", tensor.info.type, readable_gguf_types());
}

Array GgufFile::array(const GgufTensor& tensor) const {
  try {
    return array_of(tensor);
  } catch (Error& error) {
    error.prepend(
        fmt::format("{}tensor {}: ", path_.empty() ? "" : path_ + ": ", in_quotes(tensor.name)));
    throw;
  }
}

}  // namespace plait
