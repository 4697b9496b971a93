#include "plait/core/error.h"

#include "plait/core/call_in_progress.h"
#include "plait/core/inside/error_count.h"

namespace plait {

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::shape: return "ShapeError";
    case ErrorKind::type: return "TypeError";
    case ErrorKind::value: return "ValueError";
    case ErrorKind::index: return "IndexError";
    case ErrorKind::key: return "KeyError";
    case ErrorKind::memory: return "MemoryError";
    case ErrorKind::device: return "DeviceError";
    case ErrorKind::parse: return "ParseError";
    case ErrorKind::io: return "IoError";
    case ErrorKind::dist: return "DistError";
    case ErrorKind::compile: return "CompileError";
    case ErrorKind::check: return "CheckError";
  }
  return "Error";
}

namespace {

thread_local uint64_t shown_errors = 0;

}  // namespace

uint64_t errors_shown() { return shown_errors; }
void count_error() { ++shown_errors; }

Error::Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {
  if (const CallInProgress* call = CallInProgress::outermost()) {
    message_ = call->message_with_call(std::move(message_));
    location_ = Location::of_caller();
  }
  compose();
}

void Error::set_hint(std::string hint) {
  hint_ = std::move(hint);
  compose();
}

void Error::set_location(Location location) {
  // An unknown location does not replace the known location of a call in progress.
  const bool keeps = !location.known() && CallInProgress::outermost() != nullptr;
  if (!keeps) location_ = location;
  compose();
}

void Error::set_context(std::string context) {
  context_ = std::move(context);
  compose();
}

void Error::prepend(std::string_view context) {
  message_.insert(0, context);
  compose();
}

void Error::compose() {
  what_ = fmt::format("{}: {}", name_of(kind_), message_);
  if (location_.known()) what_ += ", at " + location_.text();
  if (!context_.empty()) what_ += "\n  " + context_;
  if (!hint_.empty()) what_ += "\n  hint: " + hint_;
}

}  // namespace plait
