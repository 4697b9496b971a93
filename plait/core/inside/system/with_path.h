#pragma once

#include <string>

#include "plait/core/error.h"

namespace plait {

// Runs a function that reads a file; its errors name the file.
template <class Read>
auto with_path(const std::string& path, const Read& read) {
  try {
    return read();
  } catch (Error& error) {
    error.prepend(path + ": ");
    throw;
  }
}

}  // namespace plait
