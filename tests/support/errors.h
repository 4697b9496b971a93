// Texts of errors. The test fails if the work throws nothing or another type.
#pragma once

#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "plait/core/error.h"

namespace plait {

template <class E, class Work, class Read>
std::string read_error(Work&& work, Read read) {
  try {
    work();
  } catch (const E& error) {
    return read(error);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
    return {};
  }
  ADD_FAILURE() << "no error";
  return {};
}

template <class E = Error, class Work>
std::string message_of(Work&& work) {
  return read_error<E>(work, [](const E& error) { return error.message(); });
}

// With type, location, context and hint.
template <class E = Error, class Work>
std::string what_of(Work&& work) {
  return read_error<E>(work, [](const E& error) { return std::string(error.what()); });
}

inline void expect_contains(const std::string& text,
                            std::initializer_list<std::string_view> parts) {
  for (std::string_view part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "`" << part << "` is not in: " << text;
  }
}

}  // namespace plait
