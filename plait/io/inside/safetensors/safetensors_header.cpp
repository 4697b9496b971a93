#include "plait/io/inside/safetensors/safetensors_header.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/json.h"
#include "plait/io/inside/safetensors/safetensors_pairs.h"

namespace plait {
namespace {

constexpr uint64_t kMostSafetensorsHeader = 100'000'000;
constexpr uint64_t kLengthBytes = 8;  // also the alignment of the tensors
constexpr std::string_view kMetadataName = "__metadata__";

// In ascending order of alignment: tensors are sorted by it.
constexpr std::array<SafetensorsDType, 22> kSafetensorsTypes = {{
    {"BOOL", 8, DType::boolean},
    {"F4", 4},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"U8", 8, DType::u8},
    {"I8", 8, DType::i8},
    {"F8_E5M2", 8, DType::f8e5m2},
    {"F8_E4M3", 8, DType::f8e4m3},
    {"F8_E8M0", 8},
    {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8},
    {"I16", 16, DType::i16},
    {"U16", 16, DType::u16},
    {"F16", 16, DType::f16},
    {"BF16", 16, DType::bf16},
    {"I32", 32, DType::i32},
    {"U32", 32, DType::u32},
    {"F32", 32, DType::f32},
    {"C64", 64, DType::c64},
    {"F64", 64, DType::f64},
    {"I64", 64, DType::i64},
    {"U64", 64, DType::u64},
}};

// ---- Reading.

const SafetensorsDType& type_named(std::string_view name) {
  const auto* found = std::ranges::find(kSafetensorsTypes, name, &SafetensorsDType::name);
  if (found != kSafetensorsTypes.end()) return *found;
  throw ParseError("the dtype is {}, which the format does not have", in_quotes(name));
}

std::string_view header_text(std::span<const std::byte> file) {
  FieldReader reader(file);
  const auto length = reader.number<uint64_t>();
  if (length > kMostSafetensorsHeader) {
    if (characters_of(file).starts_with("PK\3\4")) {
      throw ParseError("byte 0: this is a zip archive, such as torch.save writes")
          .hint("load it with torch.load: nn.load_state takes its tensors");
    }
    throw ParseError("byte 0: a header of {} bytes; at most {} are read", length,
                     kMostSafetensorsHeader);
  }
  const std::string_view text = characters_of(reader.take(length));
  if (!text.starts_with('{')) {
    throw ParseError("byte {}: this is not a safetensors file: the header does not begin with '{{'",
                     kLengthBytes);
  }
  return text;
}

Json parse_header_text(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (Error& error) {
    error.prepend(fmt::format("the header, from byte {}: ", kLengthBytes));
    throw;
  }
}

SafetensorsMetadata metadata_of(const Json& json) {
  SafetensorsMetadata metadata;
  for (const auto& [name, value] : json.as<Json::Object>(kMetadataName)) {
    metadata[name] = value.as<std::string>(fmt::format("{} of {}", in_quotes(name), kMetadataName));
  }
  return metadata;
}

uint64_t natural_number(const Json& json, std::string_view what) {
  const int64_t number = json.as<int64_t>(what);
  if (number < 0) throw ParseError("{} is {}, expected 0 or more", what, number);
  return static_cast<uint64_t>(number);
}

SafetensorsTensor tensor_of(const std::string& name, const Json& json) {
  json.as<Json::Object>("its description");
  SafetensorsTensor tensor{.name = name, .info = {}};
  tensor.info.dtype = json.at("dtype").as<std::string>("dtype");
  tensor.type = &type_named(tensor.info.dtype);
  tensor.dtype = tensor.type->dtype;
  for (const Json& size : json.at("shape").as<Json::List>("shape")) {
    tensor.info.sizes.push_back(static_cast<int64_t>(natural_number(size, "a size of shape")));
  }
  const auto& offsets = json.at("data_offsets").as<Json::List>("data_offsets");
  if (offsets.size() != 2) {
    throw ParseError("data_offsets has {} elements, expected 2", offsets.size());
  }
  tensor.info.begin = natural_number(offsets[0], "an offset");
  tensor.info.end = natural_number(offsets[1], "an offset");
  return tensor;
}

// The reference multiplies in this order, so that a size of 0 helps only those after it.
uint64_t bytes_of_tensor(const SafetensorsTensor& tensor) {
  uint64_t bits = 1;
  bool overflows = false;
  for (const int64_t size : tensor.info.sizes) {
    overflows |= __builtin_mul_overflow(bits, static_cast<uint64_t>(size), &bits);
  }
  overflows |= __builtin_mul_overflow(bits, tensor.type->bits, &bits);
  const auto text = [&] { return tensor.info.dtype + text_of_sizes(tensor.info.sizes); };
  if (overflows) throw ParseError("{}: the number of bits exceeds 64 bits", text());
  if (bits % 8 != 0) throw ParseError("{}: {} bits are not a number of bytes", text(), bits);
  return bits / 8;
}

void sort_by_place(std::vector<SafetensorsTensor>& tensors) {
  const auto place = [](const SafetensorsTensor& each) {
    return std::tuple(each.info.begin, each.info.end, std::string_view(each.name));
  };
  if (!std::ranges::is_sorted(tensors, {}, place)) std::ranges::sort(tensors, {}, place);
}

// Each tensor begins where the one before it ends.
void check_place(const SafetensorsTensor& tensor, uint64_t expected_begin) {
  const SafetensorsInfo& info = tensor.info;
  const uint64_t bytes = bytes_of_tensor(tensor);
  if (info.begin != expected_begin) {
    throw ParseError(
        "data_offsets begins at {}, expected {}: tensors follow each other without gaps",
        info.begin, expected_begin);
  }
  if (info.end < info.begin || info.end - info.begin != bytes) {
    throw ParseError("data_offsets is [{}, {}], but {}{} has {} bytes", info.begin, info.end,
                     info.dtype, text_of_sizes(info.sizes), bytes);
  }
}

// Calls the work; errors name the tensor.
template <class Work>
auto for_tensor(std::string_view name, Work work) {
  try {
    return work();
  } catch (Error& error) {
    error.prepend(fmt::format("tensor {}: ", in_quotes(name)));
    throw;
  }
}

// ---- Writing.

const SafetensorsDType& type_for(DType dtype) {
  return *std::ranges::find(kSafetensorsTypes, dtype, &SafetensorsDType::dtype);
}

std::string sizes_text(const Sizes& sizes) {
  std::string text = "[";
  for (const int64_t size : sizes) {
    if (text.size() > 1) text += ',';
    print_number(text, size);
  }
  return text + ']';
}

std::string metadata_text(const SafetensorsMetadata& metadata) {
  Json::Object object;
  for (const auto& [name, value] : metadata) object.emplace_back(name, value);
  return Json(std::move(object)).text();
}

}  // namespace

Sizes SafetensorsTensor::sizes() const {
  return dtype && is_stored_as_pairs(*dtype) ? without_pairs(info.sizes) : info.sizes;
}

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file) {
  const std::string_view text = header_text(file);
  const Json json = parse_header_text(text);
  SafetensorsHeader header;
  const auto& members = json.as<Json::Object>("the header");
  header.tensors.reserve(members.size());
  for (const auto& [name, value] : members) {
    if (name != kMetadataName) {
      header.tensors.push_back(for_tensor(name, [&] { return tensor_of(name, value); }));
    } else if (!value.is_null()) {
      header.metadata = metadata_of(value);
    }
  }
  sort_by_place(header.tensors);
  uint64_t end = 0;
  for (const SafetensorsTensor& each : header.tensors) {
    for_tensor(each.name, [&] { check_place(each, end); });
    end = each.info.end;
  }
  const uint64_t data_begin = kLengthBytes + text.size();
  if (end != file.size() - data_begin) {
    throw ParseError("byte {}: expected the {} bytes of the tensors, found {}", data_begin, end,
                     file.size() - data_begin);
  }
  for (SafetensorsTensor& each : header.tensors) {
    each.info.begin += data_begin;
    each.info.end += data_begin;
  }
  if (header.metadata) find_pairs(*header.metadata, header.tensors);
  return header;
}

SafetensorsTensor safetensors_tensor(const std::string& name, const Array& array) {
  const DType dtype = array.dtype();
  SafetensorsTensor tensor{.name = name, .info = {}};
  tensor.dtype = dtype;
  tensor.type = &type_for(is_stored_as_pairs(dtype) ? dtype_of_pairs(dtype) : dtype);
  tensor.info.dtype = tensor.type->name;
  tensor.info.sizes = is_stored_as_pairs(dtype) ? with_pairs(array.sizes()) : array.sizes();
  tensor.info.end = static_cast<uint64_t>(array.element_count() * array.element_size());
  return tensor;
}

std::string place_safetensors(std::vector<SafetensorsTensor>& tensors,
                              const std::optional<SafetensorsMetadata>& metadata) {
  std::ranges::sort(tensors, [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
    return a.type != b.type ? a.type > b.type : a.name < b.name;
  });
  const std::optional<SafetensorsMetadata> written = metadata_with_pairs(metadata, tensors);
  std::string text = "{";
  if (written) text += fmt::format("\"{}\":{}", kMetadataName, metadata_text(*written));
  uint64_t position = 0;
  for (SafetensorsTensor& each : tensors) {
    each.info = {each.info.dtype, each.info.sizes, position,
                 position + (each.info.end - each.info.begin)};
    position = each.info.end;
    if (text.size() > 1) text += ',';
    text += json_string(each.name);
    text += fmt::format(R"(:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", each.info.dtype,
                        sizes_text(each.info.sizes), each.info.begin, each.info.end);
  }
  text += '}';
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  if (text.size() > kMostSafetensorsHeader) {
    throw ValueError("the header would have {} bytes; at most {} are read", text.size(),
                     kMostSafetensorsHeader);
  }
  std::vector<std::byte> length;
  append_number<uint64_t>(length, text.size());
  return std::string(characters_of(length)) + text;
}

}  // namespace plait
