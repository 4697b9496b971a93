// libpng, whose errors are as those of libjpeg: see jpeg_errors.h.
#pragma once

#include <csetjmp>
#include <cstddef>

#include <png.h>

namespace plait {

struct PngErrors {
  std::jmp_buf escape = {};
  char text[128] = {};
};

[[noreturn]] void escape_png(png_structp state, png_const_charp text);
void ignore_warning(png_structp state, png_const_charp text);

// False if libpng gave an error, whose text is in `errors`.
template <class Work>
[[nodiscard]] bool completes(PngErrors& errors, const Work& work) {
  if (setjmp(errors.escape) != 0) return false;
  work();
  return true;
}

}  // namespace plait
