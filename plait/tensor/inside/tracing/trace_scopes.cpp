#include "plait/tensor/inside/tracing/trace_scopes.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "plait/core/ambient.h"

namespace plait {
namespace {

OpenFunction* function_of_parts() {
  Trace* const trace = Trace::current();
  if (trace == nullptr || trace->run().is_in_pieces()) return nullptr;
  return trace->function().is_kept_whole() ? nullptr : &trace->function();
}

}  // namespace

Trace::Part::Part(const std::string& name)
    : function_(function_of_parts()), exceptions_(std::uncaught_exceptions()) {
  if (function_ == nullptr) return;
  part_ = {.begin = function_->so_far().size(), .name = name, .location = Location::of_caller()};
}

Trace::Part::~Part() {
  if (function_ == nullptr || std::uncaught_exceptions() > exceptions_) return;
  part_.end = function_->so_far().size();
  if (part_.end > part_.begin) function_->outline(std::move(part_));
}

Trace::Instead::Instead(Trace* trace) : inner_(std::exchange(ambient.trace, trace)) {}
Trace::Instead::~Instead() { ambient.trace = inner_; }

Trace::WhereFollowed::WhereFollowed(const LevelSet& levels) : inner_(ambient.trace) {
  while (!levels.are_open() && ambient.trace != nullptr) {
    breaks_.push_back(std::make_unique<LevelPause::Break>(ambient.trace->levels().pause()));
    ambient.trace = ambient.trace->outer();
  }
  if (!levels.are_open()) restore();
}

Trace::WhereFollowed::~WhereFollowed() { restore(); }

void Trace::WhereFollowed::restore() {
  while (!breaks_.empty()) breaks_.pop_back();
  ambient.trace = inner_;
}

void EndedTraces::begin() { outer_ = std::exchange(ambient.ended_traces, this); }

bool EndedTraces::end() {
  ambient.ended_traces = outer_;
  std::erase_if(scopes_, [](const auto& scope) { return scope.expired(); });
  return !scopes_.empty();
}

bool EndedTraces::had(const Tensor& tensor) const {
  if (!tensor.is_traced() || tensor.traced().actual) return false;
  return std::ranges::any_of(
      scopes_, [&](const auto& scope) { return scope.lock() == tensor.traced().scope; });
}

}  // namespace plait
