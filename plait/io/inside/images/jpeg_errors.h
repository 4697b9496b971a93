// Errors of libjpeg, which calls functions that must not return. They jump back to `completes`, so
// that all frames between are those of C, or of functions without destructors.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

namespace plait {

struct JpegErrors {
  jpeg_error_mgr manager = {};  // the first member: libjpeg's pointer to it is one to this struct
  std::jmp_buf escape = {};
  bool accepts_damage = false;
  char text[JMSG_LENGTH_MAX] = {};

  static JpegErrors& of(j_common_ptr state) { return *reinterpret_cast<JpegErrors*>(state->err); }
  jpeg_error_mgr* begin();  // sets all functions
};

// Ends the work with an error.
[[noreturn]] void escape_jpeg(j_common_ptr state, const char* text);

// False if libjpeg gave an error, whose text is in `errors`.
template <class Work>
[[nodiscard]] bool completes(JpegErrors& errors, const Work& work) {
  if (setjmp(errors.escape) != 0) return false;
  work();
  return true;
}

}  // namespace plait
