#include "plait/io/inside/checkpoints/checkpoint_metadata.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/json.h"

namespace plait {
namespace {

constexpr const char* kStepEntry = "plait.step";
constexpr const char* kMetricsEntry = "plait.metrics";
constexpr const char* kTreeEntry = "plait.tree";

using Texts = std::map<std::string, std::string>;

// ---- Numbers that JSON lacks are strings.

Json json_of_number(double number) {
  if (std::isnan(number)) return Json("nan");
  if (std::isinf(number)) return Json(std::string(number < 0 ? "-inf" : "inf"));
  return Json(number);
}

double number_of(const Json& json, const std::string& name) {
  if (!json.holds<std::string>()) return json.number(name);
  const auto& text = json.as<std::string>(name);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf" || text == "-inf") return text == "inf" ? kInfinity : -kInfinity;
  throw ParseError("the metric {} is {}, expected a number", in_quotes(name), in_quotes(text));
}

std::string text_of_metrics(const Metrics& metrics) {
  Json::Object object;
  for (const auto& [name, number] : metrics) object.emplace_back(name, json_of_number(number));
  return Json(std::move(object)).text();
}

Metrics metrics_of(const std::string& text) {
  Metrics metrics;
  const Json json = Json::parse(text);
  for (const auto& [name, number] : json.as<Json::Object>(kMetricsEntry)) {
    metrics.emplace(name, number_of(number, name));
  }
  return metrics;
}

// ---- Trees.

Json json_of_texts(const Texts& texts) {
  Json::Object object;
  for (const auto& [name, text] : texts) object.emplace_back(name, text);
  return Json(std::move(object));
}

Texts texts_of(const Json& json, std::string_view what) {
  Texts texts;
  for (const auto& [name, text] : json.as<Json::Object>(what)) {
    texts.emplace(name, text.as<std::string>(name));
  }
  return texts;
}

std::string text_of_tree(const CheckpointTree& tree) {
  Json::Object object;
  object.emplace_back("language", tree.language);
  object.emplace_back("parts", json_of_texts(tree.parts));
  object.emplace_back("same", json_of_texts(tree.same));
  return Json(std::move(object)).text();
}

CheckpointTree tree_of(const std::string& text) {
  const Json json = Json::parse(text);
  CheckpointTree tree;
  tree.language = json.at("language").as<std::string>("language");
  tree.parts = texts_of(json.at("parts"), "parts");
  tree.same = texts_of(json.at("same"), "same");
  return tree;
}

int64_t step_of(const std::string& text) {
  int64_t step = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, step);
  if (read.ec != std::errc() || read.ptr != end || step < 0) {
    throw ParseError("the step is {}, expected a number", in_quotes(text));
  }
  return step;
}

const std::string& entry_of(const SafetensorsMetadata& metadata, const char* name) {
  const auto found = metadata.find(name);
  if (found == metadata.end()) throw ParseError("the metadata has no {}", in_quotes(name));
  return found->second;
}

template <class Read>
auto reading_entry(const SafetensorsMetadata& metadata, const char* name, Read read) {
  const std::string& text = entry_of(metadata, name);
  try {
    return read(text);
  } catch (Error& error) {
    error.prepend(fmt::format("{} of the metadata: ", name));
    throw;
  }
}

}  // namespace

bool is_reserved_metadata(std::string_view name) { return name.starts_with("plait."); }

SafetensorsMetadata metadata_of(const Checkpoint& checkpoint) {
  SafetensorsMetadata metadata = checkpoint.metadata;
  metadata[kStepEntry] = fmt::format("{}", checkpoint.step);
  metadata[kMetricsEntry] = text_of_metrics(checkpoint.metrics);
  metadata[kTreeEntry] = text_of_tree(checkpoint.tree);
  return metadata;
}

Checkpoint described_checkpoint(const SafetensorsMetadata& metadata) {
  Checkpoint checkpoint;
  checkpoint.step = reading_entry(metadata, kStepEntry, step_of);
  checkpoint.metrics = reading_entry(metadata, kMetricsEntry, metrics_of);
  checkpoint.tree = reading_entry(metadata, kTreeEntry, tree_of);
  for (const auto& [name, text] : metadata) {
    if (!is_reserved_metadata(name)) checkpoint.metadata.emplace(name, text);
  }
  return checkpoint;
}

}  // namespace plait
