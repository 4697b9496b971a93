// Texts of errors. The test fails if the work throws nothing or another type.
#pragma once

#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/core/inside/source_line.h"

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

// A part with the name of a test's file is left out where errors do not name lines of the user's
// sources.
inline void expect_contains(const std::string& text,
                            std::initializer_list<std::string_view> parts) {
  for (std::string_view part : parts) {
    if (part.find("_test.cpp") != part.npos && !can_read_source_lines()) continue;
    EXPECT_NE(text.find(part), std::string::npos) << "`" << part << "` is not in: " << text;
  }
}

}  // namespace plait
