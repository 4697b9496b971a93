#include "plait/io/gguf.h"

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/gguf/gguf_file.h"

namespace plait {
namespace {

constexpr const char* kSplitCount = "split.count";

template <class T>
constexpr std::string_view kGgufTypeName;
template <>
constexpr std::string_view kGgufTypeName<bool> = "a bool";
template <>
constexpr std::string_view kGgufTypeName<int64_t> = "an integer";
template <>
constexpr std::string_view kGgufTypeName<uint64_t> = "an integer beyond 63 bits";
template <>
constexpr std::string_view kGgufTypeName<double> = "a float";
template <>
constexpr std::string_view kGgufTypeName<std::string> = "a text";
template <>
constexpr std::string_view kGgufTypeName<Array> = "a list of numbers";
template <>
constexpr std::string_view kGgufTypeName<GgufValue::Strings> = "a list of texts";
template <>
constexpr std::string_view kGgufTypeName<GgufValue::List> = "a list of lists";

const GgufTensor& tensor_with(const GgufFile& file, std::string_view name) {
  if (const GgufTensor* found = file.find_tensor(name)) return *found;
  const std::string near = nearest_name(name, file.names());
  throw KeyError("unknown tensor {}", in_quotes(name))
      .hint(near.empty() ? "" : fmt::format("did you mean {}?", in_quotes(near)));
}

}  // namespace

template <class T>
const T& GgufValue::as() const {
  if (const T* value = std::get_if<T>(&value_)) return *value;
  const auto name = [&]<class Other>(const Other&) { return kGgufTypeName<Other>; };
  throw TypeError("the value is {}, expected {}", std::visit(name, value_), kGgufTypeName<T>);
}
template const bool& GgufValue::as<bool>() const;
template const int64_t& GgufValue::as<int64_t>() const;
template const uint64_t& GgufValue::as<uint64_t>() const;
template const double& GgufValue::as<double>() const;
template const std::string& GgufValue::as<std::string>() const;
template const Array& GgufValue::as<Array>() const;
template const GgufValue::Strings& GgufValue::as<GgufValue::Strings>() const;
template const GgufValue::List& GgufValue::as<GgufValue::List>() const;

Gguf Gguf::open(const std::string& path) { return Gguf(std::make_shared<const GgufFile>(path)); }

Gguf Gguf::read(std::span<const std::byte> file) {
  return Gguf(std::make_shared<const GgufFile>(file));
}

uint32_t Gguf::version() const { return file_->header().version; }

const std::vector<std::pair<std::string, GgufValue>>& Gguf::metadata() const {
  return file_->header().metadata;
}

const GgufValue* Gguf::find(std::string_view key) const { return file_->find_value(key); }

const GgufValue& Gguf::at(std::string_view key) const {
  if (const GgufValue* found = find(key)) return *found;
  throw KeyError("the metadata has no {}", in_quotes(key));
}

std::span<const std::string> Gguf::names() const { return file_->names(); }

bool Gguf::contains(std::string_view name) const { return file_->find_tensor(name) != nullptr; }

const GgufInfo& Gguf::info(std::string_view name) const { return tensor_with(*file_, name).info; }

Array Gguf::array(std::string_view name) const { return file_->array(tensor_with(*file_, name)); }

std::map<std::string, Array> load_gguf(const std::string& path) {
  const Gguf file = Gguf::open(path);
  if (const GgufValue* parts = file.find(kSplitCount)) {
    const auto* count = std::get_if<int64_t>(&parts->value());
    if (count && *count > 1) {
      throw ValueError("{}: it is one of {} files, and has only some of the tensors", path, *count)
          .hint("open each of them by itself");
    }
  }
  std::map<std::string, Array> arrays;
  for (const std::string& name : file.names()) arrays.emplace(name, file.array(name));
  return arrays;
}

}  // namespace plait
