#include "plait/transform/jit.h"

#include <algorithm>

#include <fmt/format.h>

namespace plait {

std::string JitStats::text() const {
  std::string text = fmt::format("{} recorded, {} hits, {} guards failed, {} runs of the host code",
                                 traces, hits, failed_guards, host_runs);
  if (pieces > 0) text += fmt::format(" in {} pieces", pieces);
  for (const Retrace& retrace : retraces) {
    text += fmt::format("\n  {}{}", retrace.why,
                        retrace.times > 1 ? fmt::format(" ({} times)", retrace.times) : "");
  }
  return text;
}

namespace {

std::vector<const Tensor*> pointers_to(std::span<const Tensor> tensors) {
  std::vector<const Tensor*> pointers;
  pointers.reserve(tensors.size());
  for (const Tensor& each : tensors) pointers.push_back(&each);
  return pointers;
}

}  // namespace

JitArguments::JitArguments(std::vector<const Tensor*> all, std::span<Tensor* const> to_take)
    : all_(std::move(all)) {
  if (to_take.empty()) return;
  auto next = to_take.begin();
  for (const Tensor* const each : all_) {
    to_take_.push_back(next != to_take.end() && *next == each ? *next++ : nullptr);
  }
}

JitArguments::JitArguments(std::span<const Tensor> all, std::span<Tensor* const> to_take)
    : JitArguments(pointers_to(all), to_take) {}

Tensor JitArguments::take(size_t i) const {
  if (i < to_take_.size() && to_take_[i] != nullptr) return std::move(*to_take_[i]);
  return *all_[i];
}

std::vector<Tensor> JitArguments::take_all() const {
  std::vector<Tensor> all;
  all.reserve(size());
  for (size_t i = 0; i < size(); ++i) all.push_back(take(i));
  return all;
}

std::vector<Tensor> JitArguments::copies() const {
  std::vector<Tensor> all;
  all.reserve(size());
  for (const Tensor* const each : all_) all.push_back(*each);
  return all;
}

JitArguments JitArguments::followed_by(std::span<const Tensor> more, bool are_kept) const {
  JitArguments made(std::vector<const Tensor*>{});
  made.all_.reserve(size() + more.size());
  for (size_t i = 0; i < size(); ++i) {
    if (!*all_[i]) continue;
    made.all_.push_back(all_[i]);
    if (!are_kept && !to_take_.empty()) made.to_take_.push_back(to_take_[i]);
  }
  for (const Tensor& each : more) made.all_.push_back(&each);
  return made;
}

namespace jits {

std::vector<std::string> paths_of_call(std::vector<std::string> paths, bool has_function) {
  for (std::string& path : paths) {
    const size_t end = std::min(path.find('.'), path.size());
    const int number = std::stoi(path.substr(0, end)) - (has_function ? 1 : 0);
    const std::string rest = path.substr(end);
    path = number < 0 ? rest.substr(std::min<size_t>(1, rest.size()))
                      : "arg" + std::to_string(number) + rest;
  }
  return paths;
}

}  // namespace jits
}  // namespace plait
