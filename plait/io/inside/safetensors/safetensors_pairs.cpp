#include "plait/io/inside/safetensors/safetensors_pairs.h"

#include <map>
#include <string>

#include "plait/core/error.h"
#include "plait/io/inside/json.h"

namespace plait {
namespace {

constexpr const char* kPairsEntry = "plait.dtypes";

// {"name":"key"}; an empty object if the text is something else.
Json::Object listed_pairs(const std::string& text) {
  try {
    return Json::parse(text).as<Json::Object>(kPairsEntry);
  } catch (const ParseError&) {
    return {};
  }
}

std::optional<DType> pair_dtype(const Json& named, const SafetensorsTensor& tensor) {
  if (tensor.info.sizes.empty() || tensor.info.sizes.back() != 2) return std::nullopt;
  for (const DType dtype : {DType::c128, DType::key}) {
    const bool is_named = named == Json(std::string(name_of(dtype)));
    if (is_named && tensor.dtype == dtype_of_pairs(dtype)) return dtype;
  }
  return std::nullopt;
}

}  // namespace

Sizes with_pairs(Sizes sizes) {
  sizes.push_back(2);
  return sizes;
}

Sizes without_pairs(Sizes sizes) {
  sizes.erase(sizes.size() - 1);
  return sizes;
}

void find_pairs(const SafetensorsMetadata& metadata, std::vector<SafetensorsTensor>& tensors) {
  const auto entry = metadata.find(kPairsEntry);
  if (entry == metadata.end()) return;
  std::map<std::string, Json> listed;
  for (auto& [name, dtype] : listed_pairs(entry->second)) listed.emplace(name, dtype);
  for (SafetensorsTensor& each : tensors) {
    const auto named = listed.find(each.name);
    if (named == listed.end()) continue;
    if (const auto dtype = pair_dtype(named->second, each)) each.dtype = dtype;
  }
}

std::optional<SafetensorsMetadata> metadata_with_pairs(
    std::optional<SafetensorsMetadata> metadata, const std::vector<SafetensorsTensor>& tensors) {
  std::map<std::string, Json> listed;
  for (const SafetensorsTensor& each : tensors) {
    if (is_stored_as_pairs(*each.dtype))
      listed.emplace(each.name, std::string(name_of(*each.dtype)));
  }
  if (metadata) metadata->erase(kPairsEntry);
  if (listed.empty()) return metadata;
  if (!metadata) metadata.emplace();
  (*metadata)[kPairsEntry] = Json(Json::Object(listed.begin(), listed.end())).text();
  return metadata;
}

}  // namespace plait
